"""Deaths on a real engine: what is left goes, what is live stays, and people are told."""

import asyncio
import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from docker.errors import NotFound
from jupyterhub.spawner import SpawnException

from bancada_hub.launch import container, removal
from bancada_hub.launch.bridge import put_bridge_back
from bancada_hub.launch.calls import ANSWER_S, EngineCalls
from bancada_hub.launch.clock import Clock, starts_of
from bancada_hub.launch.docker import DockerServer
from bancada_hub.launch.ending import Cause
from bancada_hub.launch.names import ROLE_LABEL, SERVER_ROLE, SITE_LABEL, START_LABEL
from bancada_hub.launch.planned import PlannedServer
from bancada_hub.launch.reconcile import Kind, Known, reconcile
from bancada_hub.store import notices, people, projects
from bancada_hub.store.server_ends import ends_of
from tests.hub.launch.conftest import SITE_ID, Spawn, Stage
from tests.hub.launch.test_docker_engine import NAME, until

NOBODY: Callable[[], Known] = Known


def known(*servers: DockerServer) -> Callable[[], Known]:
    starts = frozenset(server.start_id for server in servers)
    return lambda: Known(starts, starts)


def told(stage: Stage) -> list[str]:
    with stage.store.read() as session:
        ana = people.find_person(session, "ana")
        assert ana is not None
        return [notice.text for notice in notices.unseen_notices(session, ana.id)]


def clock(stage: Stage) -> Clock:
    return Clock(stage.context, dict, asyncio.get_running_loop())


async def test_a_killed_hubs_server_goes_unless_its_record_is_there(stage: Stage, spawner: Spawn) -> None:
    """D18: one look after a restart resolves containers, volumes, locks and shares."""
    lost = spawner()
    await lost.start()
    assert reconcile(stage.context, known(lost)) == ([], [])
    actions, failed = reconcile(stage.context, NOBODY)
    assert [action.kind for action in actions] == [Kind.REMOVE_CONTAINER, Kind.REMOVE_VOLUME, Kind.RELEASE]
    assert failed == []
    assert stage.leftovers() == []
    assert reconcile(stage.context, NOBODY) == ([], [])


async def test_a_hub_killed_between_claim_and_container(stage: Stage, spawner: Spawn) -> None:
    """D18: the start held its overlay and its share, and had made no container yet."""
    server = spawner()
    made = await server._planned()
    server.start_id = "0" * 12
    await asyncio.to_thread(server._prepare, made)
    assert stage.leftovers()
    assert [action.kind for action in reconcile(stage.context, NOBODY)[0]] == [Kind.RELEASE]
    assert stage.leftovers() == []


async def test_starts_under_way_are_never_taken_for_leftovers(stage: Stage, spawner: Spawn) -> None:
    server, over, ticks = spawner(), threading.Event(), [0]
    watch = clock(stage)

    def keep_looking() -> None:
        while not over.is_set():
            assert watch.tick() == []
            ticks[0] += 1

    looking = asyncio.create_task(asyncio.to_thread(keep_looking))
    await server.start()
    over.set()
    await looking
    assert ticks[0]
    assert await server.poll() is None
    await server.stop()
    assert server.start_id not in PlannedServer.live


async def test_a_container_removed_behind_our_back(stage: Stage, spawner: Spawn) -> None:
    server = spawner()
    await server.start()
    stage.client.api.remove_container(server.object_id, force=True)
    actions = await asyncio.to_thread(clock(stage).tick)
    assert [action.kind for action in actions] == [Kind.LOOK]
    await until(lambda: stage.leftovers() == [])
    assert len(told(stage)) == 1
    assert told(stage)[0].startswith("Your server of Main is gone: its container was removed.")
    assert await server.poll() is not None
    assert len(told(stage)) == 1, "once"


async def test_a_server_that_is_killed_or_ends_badly_is_told_and_a_stop_is_not(stage: Stage, spawner: Spawn) -> None:
    server = spawner()
    await server.start()
    stage.client.api.kill(server.object_id)
    await until(lambda: container.has_ended(stage.client, server.object_id))
    assert await server.poll() == 137
    assert "ended (exit status 137)" in told(stage)[0]
    await until(lambda: stage.leftovers() == [])
    again = spawner()
    await again.start()
    await again.stop()
    assert await again.poll() == 0
    assert len(told(stage)) == 1


@pytest.mark.parametrize("cause", [Cause.OUTSIDE, Cause.SWITCHED_OFF])
async def test_somebody_who_left_the_project_or_is_switched_off_is_stopped(
    stage: Stage, spawner: Spawn, cause: Cause
) -> None:
    server = spawner()
    await server.start()
    with stage.store.write() as session:
        ana, main = people.find_person(session, "ana"), projects.find_project(session, "main")
        assert ana is not None
        assert main is not None
        if cause is Cause.OUTSIDE:
            projects.drop_member(session, main.id, ana.id)
        else:
            people.set_disabled(session, ana.id, disabled=True)
    assert [action.kind for action in await asyncio.to_thread(clock(stage).tick)] == [Kind.STOP]
    await until(lambda: stage.leftovers() == [])

    def kept() -> list[str]:
        with stage.store.read() as session:
            return [end.cause for end in ends_of(session, ana.id).values()]

    await until(lambda: kept() == [cause])
    assert told(stage) == [], "they are told by whoever did it, or by nobody"


async def test_a_network_of_ours_that_is_not_the_bridge_and_a_bridge_that_is_gone(stage: Stage) -> None:
    left = stage.client.networks.create(f"left-{SITE_ID}", labels={SITE_LABEL: SITE_ID})
    stage.client.networks.get(stage.context.network).remove()
    kinds = [action.kind for action in reconcile(stage.context, NOBODY)[0]]
    assert kinds == [Kind.REMOVE_NETWORK, Kind.MAKE_NETWORK]
    with pytest.raises(NotFound):
        stage.client.networks.get(left.id)
    assert stage.client.networks.get(stage.context.network).attrs["Labels"][SITE_LABEL] == SITE_ID
    gateway = stage.client.networks.get(stage.context.network).attrs["IPAM"]["Config"][0]
    stage.client.networks.get(stage.context.network).remove()
    context = replace(stage.context, subnet=gateway["Subnet"])
    assert put_bridge_back(context, gateway["Gateway"])
    assert not put_bridge_back(context, gateway["Gateway"])
    assert stage.client.networks.get(stage.context.network).attrs["IPAM"]["Config"][0] == gateway


async def test_a_build_of_this_site_is_no_leftover(stage: Stage, image: str) -> None:
    """Builds carry the site's label too, without a server's role."""
    build = stage.client.api.create_container(image, command="/x", labels={SITE_LABEL: SITE_ID})["Id"]
    assert reconcile(stage.context, NOBODY) == ([], [])
    stage.client.api.remove_container(build)


def test_what_runs_in_a_container_that_the_engine_forgot_ends_with_it(stage: Stage, image: str) -> None:
    """As after an engine that died in the middle of a start; found by the random crashes (seed 376461503)."""
    client = stage.client
    made = client.api.create_container(image, ["/bin/true"])["Id"]
    groups = Path("/sys/fs/cgroup")
    group = (groups if (groups / "cgroup.controllers").exists() else groups / "pids") / f"bancada-test-{made}"
    group.mkdir()
    with subprocess.Popen(["sleep", "600"]) as forgotten:
        try:
            (group / "cgroup.procs").write_text(f"{forgotten.pid}\n")
            removal.remove_container(client, made)
            assert forgotten.wait(timeout=10) == -signal.SIGKILL
            removal.remove_container(client, made)  # one that is gone is no error
        finally:
            forgotten.kill()
            forgotten.wait()
            group.rmdir()


async def test_a_half_made_container_in_the_way_of_a_name(stage: Stage, spawner: Spawn, image: str) -> None:
    """D4: a name conflict with a leftover of the same server is looked up by label, removed, and tried once more."""
    server = spawner()
    made = await server._planned()
    half = stage.client.api.create_container(image, command="/x", name=NAME, labels=made.labels("f" * 12))["Id"]
    await asyncio.to_thread(server._prepare, made)
    await server.bring_up(made)
    with pytest.raises(NotFound):
        stage.client.api.inspect_container(half)
    await server.clean_up(made.key, server.start_id)
    removal.take_down(stage.client, made.key.labels)


async def test_somebody_elses_container_in_the_way_of_a_name(stage: Stage, spawner: Spawn, image: str) -> None:
    """D4: what is not ours is named and left alone."""
    foreign = stage.client.api.create_container(image, command="/x", name=NAME)["Id"]
    with pytest.raises(SpawnException) as caught:
        await spawner().start()
    assert caught.value.reason == "name-taken"
    assert f"did not make has the name {NAME}" in caught.value.message
    assert stage.client.api.inspect_container(foreign)["Id"] == foreign
    stage.client.api.remove_container(foreign)
    assert stage.leftovers() == []


async def test_an_engine_that_hangs_refuses_a_start_in_words_and_blocks_nothing(
    stage: Stage, spawner: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections and never answers, as a stopped dockerd does."""
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "d"))
        deaf.listen(64)
        monkeypatch.setattr(DockerServer, "context", replace(stage.context, engine_host=f"unix://{tmp_path / 'd'}"))
        begun, longest = time.monotonic(), 0.0
        start = asyncio.create_task(spawner().start())
        while not start.done():
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)
        with pytest.raises(SpawnException, match="does not answer, so nothing starts") as caught:
            await start
    assert caught.value.reason == "engine"
    assert time.monotonic() - begun < 2 * ANSWER_S + 10
    assert longest < 1.0, "the hub's own loop went on"
    monkeypatch.undo()
    DockerServer.context = stage.context
    again = spawner()
    await again.start()
    await again.stop()
    assert stage.leftovers() == []


async def test_the_engine_is_asked_beside_threads_that_all_wait(stage: Stage) -> None:
    calls, over = EngineCalls(stage.context.engine_host), threading.Event()
    waiting = [calls.submit(lambda _client: over.wait(60)) for _ in range(8)]
    await calls.check()
    over.set()
    assert all(future.result(timeout=10) for future in waiting)


async def test_changed_settings_make_another_container(stage: Stage, spawner: Spawn) -> None:
    """D18: no old container is ever started again; the label says which plan a container was made from."""
    plans = []
    for kind in ("work", "rescue"):
        server = spawner(options={"kind": kind})
        await server.start()
        plans.append(stage.client.api.inspect_container(server.object_id)["Config"]["Labels"]["bancada.plan"])
        stage.client.api.stop(server.object_id, timeout=0)
        await server.poll()
        await until(lambda: not PlannedServer._cleaning)
    assert plans[0] != plans[1]
    assert stage.leftovers() == []


def test_records_of_the_hub_name_their_starts() -> None:
    states = [None, "{}", '{"start_id": "a"}', json.dumps({"start_id": "b", "server": [SITE_ID, 7, 2]}), "[]"]
    assert starts_of(states) == {"b": f"bancada-{SITE_ID}-7-2"}


def test_labels_by_which_leftovers_are_found() -> None:
    assert {SITE_LABEL, ROLE_LABEL, START_LABEL, SERVER_ROLE} == {
        "bancada.site",
        "bancada.role",
        "bancada.start",
        "server",
    }
