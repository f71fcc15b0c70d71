"""An engine that keeps its containers alive is killed and comes back: servers go on, and nobody is told anything."""

import asyncio
from pathlib import Path

from bancada_hub.launch.clock import Clock
from tests.engine import TestEngine
from tests.hub.launch.conftest import Spawn, Stage
from tests.hub.launch.test_docker_crashes import told
from tests.hub.launch.test_docker_engine import NAME

OPTIONS = ("--live-restore",)


def is_mounted(stage: Stage) -> bool:
    return str(stage.places.fs) in Path("/proc/self/mountinfo").read_text()


async def test_servers_outlive_an_engine_with_live_restore(stage: Stage, spawner: Spawn, engine: TestEngine) -> None:
    server = spawner()
    await server.start()
    held = stage.leftovers()
    volume = f"{NAME}-{server.start_id}"
    process = stage.client.api.inspect_container(server.object_id)["State"]["Pid"]
    await asyncio.to_thread(engine.kill)
    assert await server.poll() is None
    await asyncio.to_thread(engine.start)
    clock = Clock(stage.context, dict, asyncio.get_running_loop())
    assert await asyncio.to_thread(clock.tick) == []
    assert await server.poll() is None
    assert stage.client.api.inspect_container(server.object_id)["State"]["Pid"] == process
    assert stage.leftovers() == held
    assert told(stage) == []
    await server.stop()
    rest = stage.leftovers()
    assert rest in ([], [volume]), "some engines keep the volume's record until their next start"
    assert not is_mounted(stage)
    again = spawner()
    await again.start()
    await again.stop()
    await asyncio.to_thread(engine.restart)
    await asyncio.to_thread(clock.tick)
    assert stage.leftovers() == []
