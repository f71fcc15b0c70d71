"""Sizes and room with a real engine: what a container gets, and what a start that does not fit leaves: nothing."""

import pytest
from jupyterhub.spawner import SpawnException

from bancada_hub.launch.room import capacity_here, sizes_here
from bancada_hub.launch.sizes import Size
from bancada_hub.store import people, projects, servers
from tests.hub.launch.conftest import Spawn, Stage


def memory_of(stage: Stage, name: str) -> int:
    return int(stage.client.api.inspect_container(name)["HostConfig"]["Memory"])


def fill(stage: Stage) -> None:
    """Let somebody else, in a project that ana is not in, hold all of the machine's memory."""
    with stage.store.write() as session:
        bia = people.add_person(session, "bia", None, admin=False, first=people.FirstNumbers(2_000_000, 2_000_000))
        secret = projects.add_project(session, "secret", "Secret", first_gid=2_000_000)
        projects.add_member(session, secret.id, bia.id)
        all_of_it = capacity_here(stage.context.site).memory_bytes
        servers.claim(session, servers.NewServer("0" * 12, bia.id, secret.id, "work", "l", all_of_it, 0.1))


async def test_the_size_reaches_the_container_and_is_remembered(stage: Stage, spawner: Spawn) -> None:
    of_site = sizes_here(stage.context.site)
    sizes: list[tuple[dict[str, str], Size]] = [({"size": "s"}, "s"), ({}, "s"), ({"size": "l"}, "l")]
    for options, size in sizes:
        server = spawner(options=options)
        await server.start()
        assert memory_of(stage, server.object_id) == of_site.of(size).memory_bytes
        with stage.store.read() as session:
            (held,) = servers.held(session)
        assert (held.start_id, held.size, held.memory_bytes) == (
            server.start_id,
            size,
            of_site.of(size).memory_bytes,
        )
        await server.stop()
        assert stage.leftovers() == []


async def test_a_start_that_does_not_fit_is_refused_in_words_and_leaves_nothing(stage: Stage, spawner: Spawn) -> None:
    fill(stage)
    with pytest.raises(SpawnException) as refused:
        await spawner().start()
    assert (refused.value.reason, refused.value.status_code) == ("no-room", 409)
    assert refused.value.message.startswith("There is no room for size M now, which takes 4.0 GiB of memory: of the ")
    assert "0.0 GiB are left. Another server holds" in refused.value.message
    assert "bia" not in refused.value.message
    assert "ecret" not in refused.value.message
    assert stage.leftovers() == ["0" * 12]
    with stage.store.write() as session:
        servers.release(session, "0" * 12)
    server = spawner()
    await server.start()
    await server.stop()
    assert stage.leftovers() == []


async def test_a_machine_that_fills_up_while_a_start_prepares_refuses_it(stage: Stage, spawner: Spawn) -> None:
    """The check before a start is only for the person's comfort: the one that counts is made with the claim."""
    server = spawner()
    clear_leftovers = server.clear_leftovers

    async def meanwhile(*made: object) -> None:
        await clear_leftovers(*made)  # type: ignore[arg-type]
        fill(stage)

    server.clear_leftovers = meanwhile  # type: ignore[method-assign]
    with pytest.raises(SpawnException) as refused:
        await server.start()
    assert refused.value.reason == "no-room"
    assert stage.leftovers() == ["0" * 12]
