"""The engine itself is killed: its servers end with it, nothing else is lost, and people are told."""

import asyncio
import time

import pytest

from bancada_hub.errors import EngineError
from bancada_hub.launch.clock import Clock
from bancada_hub.launch.ending import Cause
from bancada_hub.launch.reconcile import Known, reconcile
from bancada_hub.store import people, projects
from bancada_hub.store.server_ends import ends_of
from tests.engine import TestEngine
from tests.hub.launch.conftest import Spawn, Stage
from tests.hub.launch.test_docker_crashes import told
from tests.hub.launch.test_docker_engine import until, upper


def kept_end(stage: Stage) -> str:
    """Return why ana's server of main ended, as its card says it."""
    with stage.store.read() as session:
        ana, main = people.find_person(session, "ana"), projects.find_project(session, "main")
        assert ana is not None
        assert main is not None
        end = ends_of(session, ana.id).get(main.id)
    return end.cause if end else ""


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
    assert kept_end(stage) == Cause.ENGINE
    again = spawner()
    await again.start()
    assert (upper(stage) / "started").read_text() == "xx", "what was in the environment is there"
    assert kept_end(stage) == "", "the next start has no use for it"
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
