"""The engine's own device requests: a server gets its lease by UUID, through a stand-in for NVIDIA's hook."""

import io
import json
import tarfile
import time
from collections.abc import Iterator

import pytest
from jupyterhub.spawner import SpawnException

from bancada_hub.gpus import broker
from bancada_hub.gpus.cards import scheduling_cards
from bancada_hub.gpus.inventory import Card, Inventory
from bancada_hub.gpus.scheduling.rules import Rules
from bancada_hub.gpus.scheduling.values import OnGrant, Shape
from tests.engine import TestEngine
from tests.hub.launch.conftest import Spawn, Stage
from tests.hub.launch.test_docker_engine import until
from tests.standin.nvml.driver import card, scenario, uuid

GIB = 2**30


@pytest.fixture
def machine(engine: TestEngine) -> Iterator[None]:
    """A machine with three cards, as the hook knows them."""
    engine.cards_file.write_text(json.dumps(scenario(card(0), card(1), card(2))))
    yield
    engine.cards_file.unlink()


def grant(stage: Stage, *numbers: int) -> None:
    """Grant ana, in the project main, cards of these numbers."""
    cards = tuple(Card(uuid(number), number, memory_bytes=80 * GIB, used_bytes=0, processes=()) for number in numbers)
    lab = broker.Lab(scheduling_cards(Inventory(cards)), Rules())
    with stage.store.write() as session:
        broker.ask(session, (2, 1), Shape(cards=len(cards)), OnGrant.HOLD, time.time())
        assert broker.decide(session, lab, time.time()).grants


def inside(stage: Stage, container: str) -> list[str]:
    """Return the cards that a container was given."""
    chunks, _ = stage.client.api.get_archive(container, "/standin/cards.json")
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        file = archive.extractfile("cards.json")
        assert file
        return [each["uuid"] for each in json.load(file)["cards"]]


@pytest.mark.usefixtures("machine")
async def test_a_server_is_given_exactly_its_lease_by_uuid(stage: Stage, spawner: Spawn) -> None:
    """B1, D16: the second and third card of three, though the first is free too; and no count anywhere."""
    grant(stage, 1, 2)
    server = spawner()
    await server.start()
    found = stage.client.api.inspect_container(server.object_id)
    (request,) = found["HostConfig"]["DeviceRequests"]
    assert (sorted(request["DeviceIDs"]), request["Count"]) == ([uuid(1), uuid(2)], 0)
    assert sorted(inside(stage, server.object_id)) == [uuid(1), uuid(2)]
    await server.stop()


@pytest.mark.usefixtures("machine")
async def test_a_server_without_a_lease_is_given_none(stage: Stage, spawner: Spawn) -> None:
    server = spawner()
    await server.start()
    assert stage.client.api.inspect_container(server.object_id)["HostConfig"]["DeviceRequests"] in (None, [])
    await server.stop()


@pytest.mark.usefixtures("machine")
async def test_a_card_that_is_not_there_any_more_refuses_the_start_and_leaves_nothing(
    stage: Stage, spawner: Spawn
) -> None:
    grant(stage, 7)
    server = spawner()
    with pytest.raises(SpawnException) as refused:
        await server.start()
    assert refused.value.reason == "engine"
    await until(lambda: stage.leftovers() == [])
