"""Where a server stands on the bridge, and that none starts while the walls do not stand; on a real engine."""

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest
from jupyterhub.spawner import SpawnException

from bancada_hub.host import firewall
from bancada_hub.host.address_classes import class_network
from bancada_hub.host.daemon import wait_until
from bancada_hub.host.firewall_rules import NO_RESOLVER
from bancada_hub.launch import container
from bancada_hub.launch.docker import DockerServer
from bancada_hub.launch.walls import keep_walls
from bancada_hub.store import projects
from bancada_hub.store.projects import Egress, ProjectLimits
from tests.hub.launch.conftest import TAG, Spawn, Stage


def subnet(stage: Stage) -> IPv4Network:
    found = stage.client.api.inspect_network(stage.context.network)
    return IPv4Network(found["IPAM"]["Config"][0]["Subnet"])


def set_egress(stage: Stage, egress: Egress) -> None:
    with stage.store.write() as session:
        projects.set_limits(session, 2, ProjectLimits(None, None, egress))


async def refused(server: DockerServer) -> SpawnException:
    with pytest.raises(SpawnException) as caught:
        await server.start()
    return caught.value


@pytest.mark.parametrize("egress", ["open", "none"])
async def test_a_server_stands_in_its_projects_class(stage: Stage, spawner: Spawn, egress: Egress) -> None:
    """D19: what it reaches follows from its address, which the plan decides and no setting or option changes."""
    set_egress(stage, egress)
    server = spawner()
    address = (await server.start()).removeprefix("http://").partition(":")[0]
    found = stage.client.api.inspect_container(server.object_id)
    assert found["NetworkSettings"]["Networks"][stage.context.network]["IPAddress"] == address
    assert IPv4Address(address) in class_network(subnet(stage), egress)
    assert found["HostConfig"]["Dns"] == (None if egress == "open" else [NO_RESOLVER])
    assert found["Config"]["Hostname"] == "main--ana"
    await server.stop()


async def test_mirror_only_without_a_mirror_is_refused_in_words(stage: Stage, spawner: Spawn) -> None:
    set_egress(stage, "mirror")
    error = await refused(spawner())
    assert error.reason == "egress"
    assert error.message.startswith(
        "The project “main” may reach the site's package mirror only, and the site has none."
    )
    assert stage.leftovers() == []


@pytest.fixture
def neighbour(stage: Stage) -> Iterator[str]:
    """The address of a container that stands on the bridge already."""
    address = str(class_network(subnet(stage), "open")[77])
    config = {stage.context.network: {"IPAMConfig": {"IPv4Address": address}}}
    made = stage.client.api.create_container_from_config(  # type: ignore[no-untyped-call]
        {
            "Image": TAG,
            "Entrypoint": ["/python"],
            "NetworkingConfig": {"EndpointsConfig": config},
            "HostConfig": {
                "NetworkMode": stage.context.network,
                "Binds": [f"{stage.server_tree}/bin/python:/python:ro"],
            },
        }
    )["Id"]
    stage.client.api.start(made)
    yield address
    stage.client.api.remove_container(made, force=True)


async def test_an_address_that_is_taken_in_the_same_moment_is_left_for_the_next(
    stage: Stage, spawner: Spawn, neighbour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = str(class_network(subnet(stage), "open")[78])
    # What the engine knew a moment ago; what it refuses is real.
    monkeypatch.setattr(container, "_addresses", lambda _client, _plan: iter((neighbour, free)))
    server = spawner()
    assert await server.start() == f"http://{free}:8888"
    assert len([name for name in stage.leftovers() if name == server.object_name]) == 1
    await server.stop()
    assert stage.leftovers() == []


async def test_no_address_left(stage: Stage, spawner: Spawn, neighbour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_addresses", lambda _client, _plan: iter((neighbour,)))
    error = await refused(spawner())
    assert error.reason == "no-address"
    assert "in use on this machine" in error.message
    assert stage.leftovers() == []


async def test_a_used_address_is_not_offered(stage: Stage, spawner: Spawn, neighbour: str) -> None:
    server = spawner()
    assert neighbour not in await server.start()
    await server.stop()


async def test_nothing_starts_while_the_walls_cannot_be_put_up(
    stage: Stage, spawner: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stage.context.firewall is not None
    stage.context.firewall.remove()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        patch.setattr(firewall, "SYSTEM_PATH", "/nowhere")
        error = await refused(spawner())
    assert error.reason == "no-walls"
    assert error.message.startswith("The firewall that keeps people's servers apart is not in force")
    assert stage.leftovers() == []


async def test_a_site_of_containers_without_a_firewall_starts_nothing(stage: Stage, spawner: Spawn) -> None:
    made = spawner()
    made.context = replace(stage.context, firewall=None)  # type: ignore[misc]
    assert (await refused(made)).reason == "no-walls"


def test_the_hubs_clock_puts_walls_up_that_fell_while_servers_run(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D19: until then, what runs is without them; nothing starts."""
    walls = stage.context.firewall
    assert walls is not None
    walls.remove()
    over = keep_walls(walls, every_s=0.05)
    try:
        for _ in range(2):
            assert wait_until(walls.in_force, 10)
            firewall._nft(f"delete table inet bancada_{stage.context.site_id}\n")
        assert wait_until(walls.in_force, 10)
        assert "were not as they must be" in caplog.text
        monkeypatch.setattr(firewall, "NFT_WITHIN_S", 0.0)
        assert wait_until(lambda: "so no server starts" in caplog.text, 10)
        monkeypatch.undo()
        firewall._nft(f"delete table inet bancada_{stage.context.site_id}\n")
        assert wait_until(walls.in_force, 10)
    finally:
        over.set()


async def test_walls_that_fell_are_up_before_the_server(stage: Stage, spawner: Spawn) -> None:
    assert stage.context.firewall is not None
    stage.context.firewall.ensure()
    firewall._nft(f"delete table inet bancada_{stage.context.site_id}\n")
    server = spawner()
    await server.start()
    assert stage.context.firewall.in_force()
    await server.stop()
