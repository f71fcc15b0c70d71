"""A site's bridge: free subnets, one bridge a site, containers apart."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

import docker
import pytest

from bancada_hub.errors import EngineError
from bancada_hub.launch.network import ensure_network, free_subnets, host_routes

ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0107D50A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0000590A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""
SITE_ID = "5e55104f"


def test_routes_of_the_machine_without_the_default_one() -> None:
    assert host_routes(ROUTES) == [IPv4Network("10.89.0.0/24")]


def test_a_subnet_overlaps_nothing() -> None:
    taken = [IPv4Network("10.89.0.0/23"), IPv4Network("10.89.3.128/25")]
    assert [str(found) for found in free_subnets(taken, 2)] == ["10.89.2.0/24", "10.89.4.0/24"]
    assert next(free_subnets([IPv4Network("10.0.0.0/8")])) == IPv4Network("172.30.0.0/24")
    assert list(free_subnets([IPv4Network("0.0.0.0/0")])) == []


@pytest.fixture
def client(engine_client: docker.DockerClient, inside: None) -> Iterator[docker.DockerClient]:
    yield engine_client
    for network in engine_client.networks.list(names=[f"bancada-{SITE_ID}"]):
        network.remove()


def test_a_sites_bridge_is_made_once_and_found_again(client: docker.DockerClient) -> None:
    made = ensure_network(client, SITE_ID)
    assert ensure_network(client, SITE_ID) == made
    found = client.networks.get(made.name).attrs
    assert found["Options"] == {
        "com.docker.network.bridge.enable_icc": "false",
        "com.docker.network.bridge.name": made.bridge,
    }
    assert len(made.bridge) <= 15
    assert found["Labels"]["bancada.site"] == SITE_ID
    assert IPv4Network(made.subnet).network_address + 1 == IPv4Address(made.gateway)


def test_a_chosen_subnet_is_kept_to(client: docker.DockerClient) -> None:
    assert ensure_network(client, SITE_ID, "10.89.77.0/24").gateway == "10.89.77.1"
    with pytest.raises(EngineError, match=r"has the subnet 10\.89\.77\.0/24, while bancada\.toml says"):
        ensure_network(client, SITE_ID, "10.89.78.0/24")


def test_a_bridge_of_somebody_else_is_not_used(client: docker.DockerClient) -> None:
    client.networks.create(f"bancada-{SITE_ID}")
    with pytest.raises(EngineError, match="was not made by this site"):
        ensure_network(client, SITE_ID)
