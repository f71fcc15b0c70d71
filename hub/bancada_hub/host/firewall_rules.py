"""The text of a site's firewall rules: what its servers reach, and what reaches them. Pure.

One table of our own for nftables. Its chains are asked before those of the container engine, ufw or firewalld, and a
packet that one chain refuses is refused, whatever the others say; to accept is only to let the others decide.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network

from bancada_hub.host.address_classes import class_network

NEVER = ("0.0.0.0/8", "100.100.100.200/32", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "192.0.0.192/32")
"""What no server reaches: link-local, where most clouds tell a machine its secrets, and where the others do."""

NO_RESOLVER = "127.255.255.254"
"""The name server of servers that may not look up names. The engine forwards questions from inside a server or from
this machine, as its release has it: inside nobody listens there, and here our rules refuse it."""

BEFORE_OTHERS = -10
"""The engine, ufw and iptables ask at 0, firewalld at 10."""


@dataclass(frozen=True)
class Wall:
    """All that the rules of a site depend on.

    Args:
        site_id: 8 hex digits; names the table.
        bridge: The interface of the site's bridge.
        subnet: The bridge's network.
        gateway: The bridge's address on this machine.
        ports: The TCP ports on the gateway that servers reach: the hub's API and the server API.
        denied: Networks that no server reaches, in addition to `NEVER`.
        sources: Address and TCP port of everything that packages come from.
        resolvers: Addresses of the name servers of this machine.
        uplinks: The interfaces by which this machine reaches the outside; one of them may be a bridge.
    """

    site_id: str
    bridge: str
    subnet: str
    gateway: str
    ports: tuple[int, ...]
    denied: tuple[str, ...] = ()
    sources: tuple[tuple[str, int], ...] = ()
    resolvers: tuple[str, ...] = ()
    uplinks: tuple[str, ...] = ()


def table_name(site_id: str) -> str:
    """Return the name of a site's table."""
    return f"bancada_{site_id}"


def ruleset(wall: Wall) -> str:
    """Return the input of one `nft -f` that replaces the site's table in one step."""
    subnet = IPv4Network(wall.subnet)
    table = f"table inet {table_name(wall.site_id)}"
    parts = [
        *(_set("sources", "ipv4_addr . inet_service", [f"{address} . {port}" for address, port in wall.sources])),
        *(_set("resolvers", "ipv4_addr", wall.resolvers)),
        *(_set("denied", "ipv4_addr", _networks((*NEVER, *wall.denied)), "flags interval", "auto-merge")),
        *_to_this_machine(wall, subnet),
        *_onward(wall, subnet),
        *_chain(
            "output",
            f"type filter hook output priority {BEFORE_OTHERS}; policy accept;",
            f"ip daddr {NO_RESOLVER} goto refuse",
        ),
        *_chain("refuse", "meta l4proto tcp reject with tcp reset", "reject with icmpx type admin-prohibited"),
    ]
    return "\n".join([f"{table} {{}}", f"delete {table}", f"{table} {{", *parts, "}", ""])


def _to_this_machine(wall: Wall, subnet: IPv4Network) -> list[str]:
    ports = ", ".join(str(port) for port in sorted(wall.ports))
    return [
        *_chain(
            "input",
            f"type filter hook input priority {BEFORE_OTHERS}; policy accept;",
            f'iifname "{wall.bridge}" goto from_server',
            # Another site's servers, other bridges, and machines that use this one as their router.
            f'iifname != {{ "lo", "{wall.bridge}" }} ip daddr {wall.gateway} ct direction original goto refuse',
        ),
        *_chain(
            "from_server",
            "ct state established,related ct direction reply accept",
            f"ip saddr {subnet} ip daddr {wall.gateway} tcp dport {{ {ports} }} accept",
            f"ip saddr != {subnet} goto refuse",
            f"ip saddr {class_network(subnet, 'none')} goto refuse",
            *_NAMES_AND_PACKAGES,
            "goto refuse",
        ),
    ]


def _onward(wall: Wall, subnet: IPv4Network) -> list[str]:
    # The bridge by which this machine reaches the outside, if it is one, is no other bridge.
    others = f"oifname != {{ {', '.join(_quoted(wall.uplinks))} }} " if wall.uplinks else ""
    return [
        *_chain(
            "forward",
            f"type filter hook forward priority {BEFORE_OTHERS}; policy accept;",
            f'iifname "{wall.bridge}" goto onward',
            f'oifname "{wall.bridge}" ct state established,related ct direction reply accept',
            f'oifname "{wall.bridge}" goto refuse',
        ),
        *_chain(
            "onward",
            f'oifname "{wall.bridge}" goto refuse',
            "meta nfproto != ipv4 goto refuse",
            f"ip saddr != {subnet} goto refuse",
            f"ip saddr {class_network(subnet, 'none')} goto refuse",
            *_NAMES_AND_PACKAGES,
            "ip daddr @denied goto refuse",
            "ct status dnat goto refuse",  # a port that a container of this machine publishes
            f'meta oifkind "bridge" {others}goto refuse',
            f"ip saddr {class_network(subnet, 'open')} accept",
            "goto refuse",
        ),
    ]


_NAMES_AND_PACKAGES = (
    "ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 accept",
    # As the server asked for it, whatever address translation made of it.
    "meta l4proto tcp ct original ip daddr . ct original proto-dst @sources accept",
)


def _set(name: str, kind: str, elements: Iterable[str], *more: str) -> list[str]:
    listed = ", ".join(sorted(elements))
    lines = [f"    set {name} {{", f"        type {kind}", *(f"        {line}" for line in more)]
    return [*lines, *([f"        elements = {{ {listed} }}"] if listed else []), "    }"]


def _chain(name: str, *rules: str) -> list[str]:
    return [f"    chain {name} {{", *(f"        {rule}" for rule in rules), "    }"]


def _networks(texts: Iterable[str]) -> list[str]:
    # Servers have no IPv6 at all; a denied network of that kind is denied already.
    found = (ip_network(text) for text in texts)
    return [str(network) for network in found if network.version == 4]


def _quoted(names: Iterable[str]) -> list[str]:
    return [f'"{name}"' for name in sorted(names)]
