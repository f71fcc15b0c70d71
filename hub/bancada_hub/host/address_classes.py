"""Which addresses of a site's bridge belong to servers of which egress, so that the firewall's rules stand still.

A server gets a fixed address out of its project's class; what it may reach follows from the address alone. Half of
the bridge's network is for `open`, a quarter each for `mirror` and `none`.
"""

import ipaddress
from collections.abc import Collection, Iterator

from bancada_hub.store.projects import Egress

Subnet = ipaddress.IPv4Network

SHORTEST_PREFIX, LONGEST_PREFIX = 16, 28
"""The bridge's network: 65,536 addresses at most; with 16, three servers still fit into the smallest class."""


def class_network(subnet: Subnet, egress: Egress) -> Subnet:
    """Return the part of a bridge's network that belongs to an egress.

    Args:
        subnet: The bridge's network, with a prefix of 16 to 28 bits.
        egress: The class.

    Raises:
        ValueError: The network is too small or too large.
    """
    if not SHORTEST_PREFIX <= subnet.prefixlen <= LONGEST_PREFIX:
        msg = f"{subnet} is not a network of /{SHORTEST_PREFIX} to /{LONGEST_PREFIX}"
        raise ValueError(msg)
    first_half, second_half = subnet.subnets(prefixlen_diff=1)
    mirror, none = second_half.subnets(prefixlen_diff=1)
    return {"open": first_half, "mirror": mirror, "none": none}[egress]


def free_addresses(subnet: Subnet, egress: Egress, used: Collection[str], wish: int) -> Iterator[str]:
    """Yield the free addresses of a class, each once.

    Args:
        subnet: The bridge's network. Its first address is the gateway's.
        egress: The class.
        used: Addresses that are taken.
        wish: Where to begin, counted from the class's first one: the same server likes the same address.
    """
    part = class_network(subnet, egress)
    kept = {int(subnet.network_address), int(subnet.network_address) + 1, int(subnet.broadcast_address)}
    kept |= {int(ipaddress.IPv4Address(address)) for address in used}
    first = int(part.network_address)
    for step in range(part.num_addresses):
        number = first + (wish + step) % part.num_addresses
        if number not in kept:
            yield str(ipaddress.IPv4Address(number))
