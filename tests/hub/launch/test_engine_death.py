"""The engine itself is killed: its servers end with it, nothing else is lost, and people are told."""

import asyncio
import contextlib
import time
from collections.abc import Iterator

import docker
import pytest

from bancada_hub.errors import EngineError
from bancada_hub.launch.clock import Clock
from bancada_hub.launch.reconcile import Known, reconcile
from tests.engine import TestEngine
from tests.hub.launch.conftest import Spawn, Stage, make_image
from tests.hub.launch.test_docker_crashes import told
from tests.hub.launch.test_docker_engine import until, upper
from tests.leftovers import ROOT


@pytest.fixture(scope="module")
def engine() -> Iterator[TestEngine]:
    """An engine that may be killed."""
    engine = TestEngine(ROOT / "killed")
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def engine_client(engine: TestEngine) -> Iterator[docker.DockerClient]:
    with contextlib.closing(engine.client()) as client:
        yield client


@pytest.fixture(scope="module")
def image(engine_client: docker.DockerClient) -> str:
    return make_image(engine_client)


async def test_servers_end_with_a_killed_engine_and_everything_else_stays(
    stage: Stage, spawner: Spawn, engine: TestEngine
) -> None:
    server = spawner()
    await server.start()
    assert (upper(stage) / "started").read_text() == "x"
    engine.kill()
    with pytest.raises(EngineError, match="No container engine at"):
        reconcile(stage.context, Known)
    assert await server.poll() is None, "silence proves nothing"
    assert told(stage) == []
    await asyncio.to_thread(engine.start)
    clock = Clock(stage.context, dict, asyncio.get_running_loop())
    await asyncio.to_thread(clock.tick)
    await until(lambda: stage.leftovers() == [])
    assert len(told(stage)) == 1
    assert told(stage)[0].startswith("The container engine of this machine stopped or was restarted")
    again = spawner()
    await again.start()
    assert (upper(stage) / "started").read_text() == "xx", "what was in the environment is there"
    await again.stop()


async def test_an_engine_killed_while_a_server_starts_leaves_nothing(
    stage: Stage, spawner: Spawn, engine: TestEngine
) -> None:
    stage.behave("silent")
    server = spawner()
    start = asyncio.create_task(server.start())
    await until(lambda: bool(server.object_id))
    engine.kill()
    start.cancel()
    await asyncio.wait([start])
    await asyncio.to_thread(engine.start)
    clock = Clock(stage.context, dict, asyncio.get_running_loop())

    def clear_until_quiet() -> None:
        deadline = time.monotonic() + 60
        while clock.tick() or stage.leftovers():
            assert time.monotonic() < deadline, stage.leftovers()

    await asyncio.to_thread(clear_until_quiet)
