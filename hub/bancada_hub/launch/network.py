"""A site's one bridge: containers reach the hub on its gateway, and never each other."""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError
from docker.types import IPAMConfig, IPAMPool

from bancada_hub.errors import EngineError, Told, told
from bancada_hub.launch.names import ROLE_LABEL, SITE_LABEL, bridge_name, network_name

Subnet = ipaddress.IPv4Network

_ISOLATED = {"com.docker.network.bridge.enable_icc": "false"}
_INTERFACE = "com.docker.network.bridge.name"
_PREFERRED = ("10.89.0.0/16", "10.213.0.0/16", "172.30.0.0/16", "192.168.224.0/19")
_SIZE = 24


@dataclass(frozen=True)
class Network:
    """A bridge as it stands; `bridge` is its interface on this machine."""

    name: str
    gateway: str
    subnet: str
    bridge: str


def ensure_network(client: docker.DockerClient, site_id: str, subnet: str | None = None) -> Network:
    """Return a site's bridge, making it where there is none.

    Args:
        client: The engine.
        site_id: 8 hex digits.
        subnet: The site's setting; None chooses one that nothing here uses.

    Raises:
        EngineError: The bridge is another site's, or has not what a site needs; or no subnet is free.
    """
    name = network_name(site_id)
    found = [item for item in client.networks.list(names=[name]) if item.name == name]
    if found:
        return _existing(found[0].attrs, site_id, subnet)
    taken = [*_of_engine(client), *host_routes(Path("/proc/net/route").read_text())]
    refused = ""
    for candidate in [Subnet(subnet)] if subnet else free_subnets(taken):
        try:
            return _create(client, site_id, candidate)
        except APIError as error:
            # Another site took it meanwhile, or a route of a kind that /proc/net/route does not show overlaps.
            refused = str(error.explanation)
    why = refused or told("no free subnet was found")
    msg = told("No bridge could be made for this site: %(why)s.", why=why)
    fix = told("Set network.subnet in bancada.toml to a free private network, such as 10.89.7.0/24.")
    raise EngineError(msg, fix=fix)


def free_subnets(taken: Iterable[Subnet], most: int = 8) -> Iterator[Subnet]:
    """Yield private networks of 256 addresses that overlap nothing.

    Args:
        taken: What is in use.
        most: How many at most.
    """
    used = list(taken)
    for area in _PREFERRED:
        for candidate in Subnet(area).subnets(new_prefix=_SIZE):
            if most and not any(candidate.overlaps(other) for other in used):
                most -= 1
                yield candidate


def host_routes(text: str) -> list[Subnet]:
    """Return the networks that the machine has routes to, from the text of /proc/net/route; not the default route."""
    routes = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        destination, mask = (ipaddress.IPv4Address(int.from_bytes(bytes.fromhex(fields[i]), "little")) for i in (1, 7))
        if int(mask):
            routes.append(Subnet(f"{destination}/{mask}", strict=False))
    return routes


def _of_engine(client: docker.DockerClient) -> Iterator[Subnet]:
    for network in client.networks.list():
        for pool in (network.attrs.get("IPAM") or {}).get("Config") or []:
            found = ipaddress.ip_network(pool.get("Subnet", "0.0.0.0/32"), strict=False)
            if isinstance(found, Subnet):
                yield found


def _create(client: docker.DockerClient, site_id: str, subnet: Subnet) -> Network:
    gateway = str(subnet.network_address + 1)
    name, bridge = network_name(site_id), bridge_name(site_id)
    client.networks.create(
        name,
        driver="bridge",
        options=_ISOLATED | {_INTERFACE: bridge},
        labels={SITE_LABEL: site_id, ROLE_LABEL: "network"},
        check_duplicate=True,
        ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=str(subnet), gateway=gateway)]),
    )
    return Network(name, gateway, str(subnet), bridge)


def _existing(attributes: dict[str, Any], site_id: str, subnet: str | None) -> Network:
    name, pool = attributes["Name"], attributes["IPAM"]["Config"][0]
    trouble: Told | None = None
    if (attributes.get("Labels") or {}).get(SITE_LABEL) != site_id:
        trouble = told("The bridge %(name)s was not made by this site.", name=name)
    elif (attributes.get("Options") or {}).get("com.docker.network.bridge.enable_icc") != "false":
        trouble = told("The bridge %(name)s lets containers reach each other.", name=name)
    elif subnet and pool["Subnet"] != subnet:
        words = {"name": name, "has": pool["Subnet"], "subnet": subnet}
        trouble = told("The bridge %(name)s has the subnet %(has)s, while bancada.toml says %(subnet)s.", **words)
    if trouble:
        fix = told("Stop the servers on it, run: docker network rm %(name)s; then: ./bancada up", name=name)
        raise EngineError(trouble, fix=fix)
    # Bridges of earlier releases have the interface that the engine named.
    bridge = (attributes.get("Options") or {}).get(_INTERFACE) or f"br-{attributes['Id'][:12]}"
    return Network(name, pool["Gateway"], pool["Subnet"], bridge)
