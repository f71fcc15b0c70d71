"""What packages come from, as addresses for the firewall: names of the settings, looked up."""

import ipaddress
import logging
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from urllib.parse import urlsplit

from bancada_hub.host.firewall_rules import NEVER
from bancada_images.sources import PackageSources

LOOK_UP_WITHIN_S = 5.0
KEPT_S = 24 * 3600.0
"""How long an address that a name had stays: names with many addresses give others every time."""

_PORTS = {"http": 80, "https": 443}
_NEVER = tuple(ipaddress.IPv4Network(text) for text in (*NEVER, "224.0.0.0/3"))
_log = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class Endpoint:
    """A TCP port of a machine, by name or address."""

    host: str
    port: int


def endpoints(sources: PackageSources) -> tuple[Endpoint, ...]:
    """Return what the settings name: indexes, the Debian mirror, proxies. Public defaults are not among them."""
    named = (
        sources.index_url,
        *sources.extra_index_urls,
        sources.debian_mirror,
        sources.http_proxy,
        sources.https_proxy,
    )
    return tuple(sorted({found for url in named if url for found in _endpoint(url)}))


def serves_mirror_only(sources: PackageSources) -> bool:
    """Say whether a server that reaches the package sources and nothing else finds any packages."""
    return bool(endpoints(sources)) or sources.wheelhouse is not None


def look_up(
    found: Collection[Endpoint], known: Mapping[str, Mapping[str, float]], now_s: float
) -> dict[str, dict[str, float]]:
    """Return each host's addresses, with when each was last seen.

    A host that cannot be looked up now keeps what it had.

    Args:
        found: The endpoints.
        known: What an earlier call returned.
        now_s: Seconds since 1970.
    """
    hosts = sorted({item.host for item in found})
    fresh = _addresses(hosts)
    return {host: _merged(known.get(host, {}), fresh.get(host, ()), now_s) for host in hosts}


def reachable(found: Iterable[Endpoint], addresses: Mapping[str, Mapping[str, float]]) -> tuple[tuple[str, int], ...]:
    """Return address and port of every endpoint, without those that no server may ever reach."""
    pairs = {(address, item.port) for item in found for address in addresses.get(item.host, {})}
    return tuple(sorted(pair for pair in pairs if not any(ipaddress.IPv4Address(pair[0]) in net for net in _NEVER)))


def _endpoint(url: str) -> Iterator[Endpoint]:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.hostname and parts.scheme in _PORTS:
        yield Endpoint(parts.hostname, parts.port or _PORTS[parts.scheme])


def _merged(known: Mapping[str, float], fresh: Collection[str], now_s: float) -> dict[str, float]:
    if not fresh:
        return dict(known)
    recent = {address: seen_s for address, seen_s in known.items() if now_s - seen_s < KEPT_S}
    return recent | dict.fromkeys(fresh, now_s)


def _addresses(hosts: list[str]) -> dict[str, list[str]]:
    if not hosts:
        return {}
    pool = ThreadPoolExecutor(len(hosts), thread_name_prefix="look-up")
    asked = {host: pool.submit(socket.getaddrinfo, host, None, socket.AF_INET, socket.SOCK_STREAM) for host in hosts}
    wait(asked.values(), timeout=LOOK_UP_WITHIN_S)
    pool.shutdown(wait=False, cancel_futures=True)  # a name server that is silent is not waited for
    found = {}
    for host, future in asked.items():
        if future.done() and not future.cancelled() and future.exception() is None:
            found[host] = sorted({str(item[4][0]) for item in future.result()})
        else:
            _log.warning("The address of %s cannot be looked up now", host)
    return found
