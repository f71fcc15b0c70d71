"""The docker spawner on a real engine: what is created, what is refused, and that nothing is left."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from jupyterhub.spawner import SpawnException
from traitlets.config import Config

from bancada_hub.launch import container, removal
from bancada_hub.launch.choices import Choices
from bancada_hub.launch.facts import read_facts
from bancada_hub.launch.names import ServerKey
from bancada_hub.launch.plan import plan
from bancada_hub.launch.planned import PlannedServer
from bancada_hub.launch.reconcile import Known, reconcile
from bancada_hub.store import people, projects
from tests.hub.launch.conftest import SITE_ID, TAG, Spawn, Stage

UID, NAME = 2_000_000, f"bancada-{SITE_ID}-2000000-2"


async def until(holds: Callable[[], bool], within_s: float = 20) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.05)


def upper(stage: Stage) -> Path:
    return stage.places.overlay(2, UID, stage.lower.name) / "upper"


async def test_a_server_starts_answers_and_leaves_nothing(stage: Stage, spawner: Spawn) -> None:
    server = spawner()
    address = await server.start()
    assert address.endswith(":8888")
    assert await server.poll() is None
    assert stage.leftovers() == [NAME, f"{NAME}-{server.start_id}", server.start_id]
    await server.stop()
    assert stage.leftovers() == []
    assert await server.poll() == 0


async def test_what_a_person_changed_is_there_at_the_next_start(stage: Stage, spawner: Spawn) -> None:
    for times in (1, 2):
        server = spawner()
        await server.start()
        assert (upper(stage) / "started").read_text() == "x" * times
        await server.stop()
    assert (upper(stage) / "started").stat().st_uid == UID
    assert not (stage.lower / "started").exists()


async def test_the_engine_was_asked_for_exactly_the_plan(stage: Stage, spawner: Spawn) -> None:
    server = spawner()
    await server.start()
    found = stage.client.api.inspect_container(server.object_id)
    host = found["HostConfig"]
    made = plan(read_facts(stage.context, "ana", "main"), Choices())
    assert found["Image"] == made.image_digest
    assert found["Config"]["User"] == f"{UID}:{made.gid}"
    assert host["GroupAdd"] == ["1999999"]
    assert (host["CapDrop"], host["SecurityOpt"], host["Init"]) == (["ALL"], ["no-new-privileges:true"], True)
    assert (host["Privileged"], host["CapAdd"], host["Devices"], host["Binds"]) == (False, None, None, None)
    assert (host["Memory"], host["MemorySwap"], host["ShmSize"]) == (4 << 30, 4 << 30, 2 << 30)
    assert (host["PidsLimit"], host["NetworkMode"]) == (4096, stage.context.network)
    assert {item["Target"] for item in host["Mounts"]} == {mount.target for mount in made.mounts} | {"/opt/env"}
    assert found["Config"]["Labels"] == made.labels(server.start_id)
    await server.stop()


HOSTILE = {
    "volumes": {"/etc": "/host-etc"},
    "read_only_volumes": {"/root": "/host-root"},
    "mounts": [{"source": "/etc", "target": "/host-etc", "type": "bind"}],
    "extra_host_config": {"privileged": True, "cap_add": ["SYS_ADMIN"], "network_mode": "host"},
    "extra_create_kwargs": {"user": "0"},
    "image": "evil/x",
    "allowed_images": "*",
    "network_name": "host",
    "use_internal_ip": False,
    "name_template": "evil",
    "cmd": ["sh"],
    "args": ["--evil"],
    "environment": {"EVIL": "1", "PATH": "/evil", "HOME": "/evil", "BANCADA_KIND": "rescue"},
    "env_keep": ["HOME", "SSL_CERT_FILE"],
    "notebook_dir": "/evil",
    "mem_limit": "1T",
    "cpu_limit": 100.0,
    "links": {"a": "b"},
    "post_start_cmd": "touch /evil",
    "prefix": "evil",
    "remove": False,
}


async def test_no_setting_of_a_spawner_adds_anything(stage: Stage, spawner: Spawn) -> None:
    seen = []
    for config in (Config(), Config(DockerServer=HOSTILE), Config(DockerSpawner=HOSTILE)):
        server = spawner(config=config)
        await server.start()
        found = stage.client.api.inspect_container(server.object_id)
        variables = {line.split("=", 1)[0]: line.split("=", 1)[1] for line in found["Config"]["Env"]}
        assert "EVIL" not in variables
        assert variables["JUPYTERHUB_API_TOKEN"] == "a-token-of-the-hub"
        own = {name: value for name, value in variables.items() if not name.startswith("JUPYTERHUB_")}
        host = {name: value for name, value in found["HostConfig"].items() if name not in {"Mounts", "ContainerIDFile"}}
        mounts = sorted((item["Target"], item.get("ReadOnly", False)) for item in found["HostConfig"]["Mounts"])
        seen.append((found["Name"], found["Image"], found["Path"], found["Args"], own, host, mounts))
        await server.stop()
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


@pytest.mark.parametrize(
    "options", [{"image": "evil/x"}, {"kind": True}, {"kind": "work", "volumes": {}}, {"size": "xl"}]
)
async def test_options_nobody_offers_are_refused_and_not_kept(stage: Stage, spawner: Spawn, options: object) -> None:
    server = spawner(options={})
    server.user_options = options
    server.orm_spawner.user_options = options
    with pytest.raises(SpawnException) as caught:
        await server.start()
    assert (caught.value.reason, caught.value.status_code) == ("bad-options", 400)
    assert server.orm_spawner.user_options == {}
    assert stage.leftovers() == []


async def test_only_members_start_a_projects_server(stage: Stage, spawner: Spawn) -> None:
    with stage.store.write() as session:
        projects.add_project(session, "other", "Other", first_gid=2_000_000)
    for name, reason in (("other", "not-a-member"), ("none", "unknown-project"), ("", "unnamed-server")):
        with pytest.raises(SpawnException) as caught:
            await spawner(name=name).start()
        assert caught.value.reason == reason
    assert stage.client.containers.list(all=True, filters={"label": f"bancada.site={SITE_ID}"}) == []


async def refused(server: object) -> SpawnException:
    with pytest.raises(SpawnException) as caught:
        await server.start()  # type: ignore[attr-defined]
    return caught.value


async def test_a_check_that_fails_inside_is_told_in_its_own_words(stage: Stage, spawner: Spawn) -> None:
    stage.behave("refuse")
    error = await refused(spawner())
    assert (error.reason, error.message) == ("read-only", "The work environment came up read-only.")
    assert stage.leftovers() == []


async def test_a_server_that_ends_at_once(stage: Stage, spawner: Spawn) -> None:
    stage.behave("crash")
    error = await refused(spawner())
    assert error.reason == "ended"
    assert "exit status 3" in error.message
    assert stage.leftovers() == []


async def test_an_image_that_is_missing(stage: Stage, spawner: Spawn) -> None:
    made = plan(read_facts(stage.context, "ana", "main"), Choices())
    with pytest.raises(Exception, match="no longer on this machine") as caught:
        container.verify_image(stage.client, replace(made, image_digest="sha256:" + "0" * 64))
    assert caught.value.reason == "image-missing"  # type: ignore[attr-defined]


async def test_a_tag_that_was_moved_to_another_image(stage: Stage, spawner: Spawn) -> None:
    stage.client.api.import_image_from_data(b"\0" * 10_240, repository="bancada-test/launch", tag="1")
    error = await refused(spawner())
    assert error.reason == "image-tampered-with"
    assert f"its tag {TAG} names another image" in error.message
    assert "./bancada up" in error.message
    assert stage.leftovers() == []


async def test_a_lower_that_is_gone(stage: Stage, spawner: Spawn) -> None:
    stage.lower.rename(stage.lower.with_name("moved"))
    error = await refused(spawner())
    assert error.reason == "environment-missing"
    assert stage.leftovers() == []


async def test_a_file_where_the_overlays_work_folder_should_be(stage: Stage, spawner: Spawn) -> None:
    work = upper(stage).with_name("work")
    work.parent.mkdir(parents=True)
    work.write_text("no folder")
    os.chown(work, UID, 0)
    error = await refused(spawner())
    assert error.reason == "folders"
    assert f"{work} is not a directory" in error.message
    assert stage.leftovers() == []


async def test_what_the_engine_says_about_a_mount_becomes_a_sentence(stage: Stage) -> None:
    made = plan(read_facts(stage.context, "ana", "main"), Choices())
    for mount in made.mounts:  # none but the overlay is missing
        mount.source.parent.mkdir(parents=True, exist_ok=True)
        if mount.target.startswith("/etc/"):
            mount.source.touch()
        else:
            mount.source.mkdir(exist_ok=True)
    with pytest.raises(Exception, match="could not be mounted") as caught:
        container.bring_up(stage.client, made, "0" * 12, dict(made.environment), threading.Event())
    assert caught.value.reason == "overlay-broken"  # type: ignore[attr-defined]
    removal.take_down(stage.client, made.key.labels)
    assert stage.leftovers() == []


async def test_a_home_that_belongs_to_somebody_else(stage: Stage, spawner: Spawn) -> None:
    home = stage.places.home(UID)
    home.mkdir(parents=True)
    os.chown(home, 1234, 1234)
    error = await refused(spawner())
    assert error.reason == "folders"
    assert error.message == f"{home} belongs to uid 1234; it must belong to uid {UID}. Ask an administrator."
    assert f"chown -R --no-dereference {UID}:0 {home}" in error.log_message
    assert stage.leftovers() == []


async def test_a_cancelled_start_leaves_nothing_and_does_not_wait(stage: Stage, spawner: Spawn) -> None:
    stage.behave("silent")
    server = spawner()
    start = asyncio.create_task(server.start())
    await until(lambda: NAME in stage.leftovers())
    start.cancel()
    begun = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert time.monotonic() - begun < 0.5
    assert server.server is None
    await until(lambda: stage.leftovers() == [])


async def test_a_start_cancelled_while_the_engine_creates(stage: Stage, spawner: Spawn) -> None:
    stage.behave("silent")
    for pause_s in (0.0, 0.02, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6):
        server = spawner()
        start = asyncio.create_task(server.start())
        moment = time.monotonic() + pause_s  # what is tested: no moment leaves anything
        await until(lambda moment=moment: time.monotonic() >= moment)  # type: ignore[misc]
        start.cancel()
        await asyncio.wait([start])
        await until(lambda: not PlannedServer._cleaning)
        assert stage.leftovers() == [], f"cancelled after {pause_s} s"


async def test_a_start_right_after_a_cancel_waits_for_its_cleaning(stage: Stage, spawner: Spawn) -> None:
    stage.behave("silent")
    first = asyncio.create_task(spawner().start())
    await until(lambda: NAME in stage.leftovers())
    first.cancel()
    await asyncio.wait([first])
    stage.behave("serve")
    second = spawner()
    await second.start()
    assert await second.poll() is None
    await second.stop()
    assert stage.leftovers() == []


async def test_a_container_that_dies_is_noticed_and_cleared(stage: Stage, spawner: Spawn) -> None:
    server = spawner()
    await server.start()
    stage.client.api.kill(server.object_id)
    await until(lambda: container.has_ended(stage.client, server.object_id))
    assert await server.poll() == 137
    await until(lambda: stage.leftovers() == [])


async def test_a_restarted_hub_takes_a_running_server_over(stage: Stage, spawner: Spawn) -> None:
    before = spawner()
    await before.start()
    state = before.get_state()
    assert reconcile(stage.context, lambda: Known(frozenset({before.start_id}))) == ([], [])
    after = spawner()
    after.load_state(state)
    assert await after.poll() is None
    await after.stop()
    assert stage.leftovers() == []


async def test_a_hub_that_was_killed_leaves_nothing_for_long(stage: Stage, spawner: Spawn) -> None:
    lost = spawner()
    await lost.start()
    assert reconcile(stage.context, Known)[1] == []
    assert stage.leftovers() == []
    await spawner().start()
    again = spawner()
    await again.start()  # removes what the one before left, and its lock
    assert stage.leftovers() == [NAME, f"{NAME}-{again.start_id}", again.start_id]
    await again.stop()


async def test_another_sites_servers_are_never_touched(stage: Stage, spawner: Spawn) -> None:
    server = spawner()
    await server.start()
    removal.take_down(stage.client, ServerKey("ffffffff", UID, 2).labels)
    assert await server.poll() is None
    await server.stop()


async def test_a_rescue_mounts_no_overlay(stage: Stage, spawner: Spawn) -> None:
    with stage.store.read() as session:
        assert people.find_person(session, "ana") is not None
    server = spawner(options={"kind": "rescue"})
    await server.start()
    found = stage.client.api.inspect_container(server.object_id)
    assert "/opt/env" not in {item["Target"] for item in found["HostConfig"]["Mounts"]}
    assert stage.leftovers() == [NAME, server.start_id]  # its share of the machine
    await server.stop()


async def test_progress_tells_each_stage_once(stage: Stage, spawner: Spawn) -> None:
    server = spawner()
    told: list[str] = []

    async def listen() -> None:
        async for event in server.progress():
            told.append(str(event["message"]))  # noqa: PERF401 - each is looked at while more may come

    listener = asyncio.create_task(listen())
    await server.start()
    await until(lambda: bool(told) and told[-1] == "Waiting for JupyterLab")
    listener.cancel()
    await server.stop()
    assert len(told) == len(set(told))
