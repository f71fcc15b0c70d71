"""The text of the firewall's rules, and the addresses behind it: pure."""

import json
import subprocess
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bancada_hub.host.address_classes import class_network, free_addresses
from bancada_hub.host.egress import Endpoint, endpoints, look_up, reachable, serves_mirror_only
from bancada_hub.host.firewall import resolvers_of, uplinks_of
from bancada_hub.host.firewall_rules import Wall, ruleset
from bancada_hub.store.projects import EGRESSES
from bancada_images.sources import PackageSources

WALL = Wall("5e55104a", "bnc-5e55104a", "10.89.0.0/24", "10.89.0.1", ports=(8004, 8003))
FULL = replace(
    WALL,
    denied=("10.0.0.0/8", "fd00::/8", "10.1.0.0/16"),
    sources=(("10.5.5.5", 443), ("10.5.5.5", 3128)),
    resolvers=("10.0.0.53", "169.254.169.253"),
    uplinks=("eth0", "br0"),
)
ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
br0\t00000000\t0107D50A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0000590A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""

subnets = some.builds(
    lambda prefix, number: IPv4Network((0x0A000000 | number << 32 - prefix & 0xFFFFFF, prefix)),
    some.integers(16, 28),
    some.integers(0, 255),
)


@pytest.mark.engine  # a network namespace, as root
@pytest.mark.parametrize(
    "wall", [WALL, FULL, replace(WALL, subnet="10.89.0.0/16"), replace(WALL, subnet="10.89.0.0/28")]
)
def test_nftables_takes_the_rules_whatever_the_site(wall: Wall) -> None:
    done = subprocess.run(
        ["unshare", "--net", "nft", "--file", "-"], input=ruleset(wall), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_same_site_gives_the_same_text_in_whatever_order_its_facts_came() -> None:
    shuffled = replace(FULL, denied=FULL.denied[::-1], sources=FULL.sources[::-1], uplinks=FULL.uplinks[::-1])
    assert ruleset(shuffled) == ruleset(FULL)


@given(subnets)
def test_the_classes_share_the_bridges_network_among_them(subnet: IPv4Network) -> None:
    parts = [class_network(subnet, egress) for egress in EGRESSES]
    assert sum(part.num_addresses for part in parts) == subnet.num_addresses
    assert all(part.subnet_of(subnet) for part in parts)
    assert not any(a.overlaps(b) for a in parts for b in parts if a is not b)


@given(subnets, some.sampled_from(EGRESSES), some.integers(0, 10**9), some.data())
def test_an_address_is_of_its_class_free_and_nobodys_in_particular(
    subnet: IPv4Network, egress: str, wish: int, data: some.DataObject
) -> None:
    """D19: what a server reaches follows from its address."""
    part = class_network(subnet, egress)  # type: ignore[arg-type]
    some_used = data.draw(some.lists(some.integers(0, part.num_addresses - 1), max_size=20))
    used = {str(part[number]) for number in some_used}
    found = []
    for address in free_addresses(subnet, egress, used, wish):  # type: ignore[arg-type]
        found.append(address)
        if len(found) == 50:
            break
    special = {str(subnet[0]), str(subnet[1]), str(subnet[-1])}
    assert len(set(found)) == len(found)
    assert all(IPv4Address(address) in part for address in found)
    assert not set(found) & (used | special)
    assert found or len(used | special) >= part.num_addresses


def test_a_network_that_is_too_small_has_no_classes() -> None:
    with pytest.raises(ValueError, match="is not a network of /16 to /28"):
        class_network(IPv4Network("10.89.0.0/29"), "open")


def test_every_address_of_a_class_can_be_had() -> None:
    found = {egress: list(free_addresses(IPv4Network("10.1.0.0/28"), egress, (), 3)) for egress in EGRESSES}
    assert found == {
        "open": [f"10.1.0.{n}" for n in (3, 4, 5, 6, 7, 2)],
        "mirror": [f"10.1.0.{n}" for n in (11, 8, 9, 10)],
        "none": ["10.1.0.12", "10.1.0.13", "10.1.0.14"],
    }


def test_package_sources_are_hosts_and_ports() -> None:
    sources = PackageSources(
        index_url="https://someone:secret@mirror.example/simple",
        extra_index_urls=("http://10.5.5.5:3141/more",),
        https_proxy="proxy.example:3128",
        debian_mirror="http://mirror.example/debian",
    )
    assert endpoints(sources) == (
        Endpoint("10.5.5.5", 3141),
        Endpoint("mirror.example", 80),
        Endpoint("mirror.example", 443),
        Endpoint("proxy.example", 3128),
    )
    assert serves_mirror_only(sources)
    assert endpoints(PackageSources()) == ()
    assert not serves_mirror_only(PackageSources())


def test_a_name_that_cannot_be_looked_up_keeps_its_addresses() -> None:
    known = {"nowhere.invalid": {"10.5.5.6": 1.0}, "forgotten.example": {"10.5.5.7": 1.0}}
    found = look_up([Endpoint("nowhere.invalid", 80), Endpoint("10.5.5.5", 80)], known, now_s=1e9)
    assert found == {"nowhere.invalid": {"10.5.5.6": 1.0}, "10.5.5.5": {"10.5.5.5": 1e9}}
    assert json.loads(json.dumps(found)) == found


def test_an_address_that_a_name_had_stays_for_a_day() -> None:
    known = {"10.5.5.5": {"10.5.5.6": 1e9 - 3600, "10.5.5.7": 1e9 - 90_000}}
    assert look_up([Endpoint("10.5.5.5", 80)], known, now_s=1e9) == {
        "10.5.5.5": {"10.5.5.6": 1e9 - 3600, "10.5.5.5": 1e9}
    }


def test_a_name_that_leads_to_the_metadata_address_opens_nothing() -> None:
    named = Endpoint("mirror.example", 80)
    addresses = {"mirror.example": {"169.254.169.254": 1.0, "127.0.0.1": 1.0, "10.5.5.5": 1.0}}
    assert reachable([named], addresses) == (("10.5.5.5", 80),)


def test_name_servers_and_ways_out_of_the_machine() -> None:
    text = "# x\nnameserver 127.0.0.53\nnameserver 10.0.0.53\nnameserver fd00::53\nsearch a.example\nnameserver\n"
    assert resolvers_of(text) == ("10.0.0.53",)
    assert uplinks_of(ROUTES) == ("br0",)
