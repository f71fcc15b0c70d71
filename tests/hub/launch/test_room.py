"""Room is claimed by one transaction: on both databases, by several processes at once, and given back at the end."""

import multiprocessing
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bancada_hub.errors import LaunchRefused
from bancada_hub.launch.choices import Choices
from bancada_hub.launch.names import new_start_id
from bancada_hub.launch.plan import LaunchPlan, Where, Who, plan
from bancada_hub.launch.room import check_room, claim_room, machine_of, read_offers, sizes_here
from bancada_hub.launch.sizes import SIZES, Size
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store import people, projects, servers
from bancada_hub.store.database import open_store
from bancada_hub.store.models import MemberRow, ProjectRow, ServerRow
from tests.hub.domain import Town, make_town
from tests.hub.launch.examples import GIB, facts

MIB = 1024**2
SMALL = {"memory_gib": 0.5, "cpus": 0.2, "cpu_overcommit": 64.0}
"""Sizes of 256, 512 and 1,024 MiB, so that these tests mean the same on any machine."""

PEOPLE = tuple(f"p{number}" for number in range(6))
DEADLINE_S = 60


def fill(town: Town) -> Town:
    """Let six people into wheat and rye, and make the sizes small."""
    town.quickly(*PEOPLE)
    with town.store.write() as session:
        for slug in ("wheat", "rye"):
            for name in PEOPLE:
                person = people.find_person(session, name)
                assert person is not None
                projects.add_member(session, town.project(slug).id, person.id)
    return replace(town, site=town.site.model_copy(update={"server": town.site.server.model_copy(update=SMALL)}))


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    made = fill(make_town(tmp_path / "data"))
    yield made
    made.store.engine.dispose()


@pytest.fixture
def town_on_postgresql(tmp_path: Path, postgres_url: str) -> Iterator[Town]:
    made = fill(make_town(tmp_path / "data", postgres_url))
    yield made
    made.store.engine.dispose()


def planned(town: Town, name: str, slug: str, size: Size = "m") -> LaunchPlan:
    project, actor = town.project(slug), town.actor(name)
    with town.store.read() as session:
        person = people.get_person(session, actor.person_id or 0)
    where = Where(project.id, project.slug, project.gid, member=True)
    who = Who(person.name, person.uid, disabled=False)
    return plan(facts(who=who, where=where, sizes=sizes_here(town.site)), Choices(size=size))


def claimed(town: Town, made: LaunchPlan) -> str:
    start_id = new_start_id()
    with town.store.write() as session:
        claim_room(session, town.site, made, start_id)
    return start_id


def cap(town: Town, slug: str, memory_bytes: int | None, cpus: float | None = None) -> None:
    with town.store.write() as session:
        row = session.get_one(ProjectRow, town.project(slug).id)
        row.max_memory_bytes, row.max_cpus = memory_bytes, cpus


def holding(town: Town) -> dict[str, tuple[str, str]]:
    with town.store.read() as session:
        return {each.start_id: (each.person_name, each.project_slug) for each in servers.held(session)}


def start_in_process(data: Path, url: str, name: str, barrier: Barrier, answers: "multiprocessing.Queue[str]") -> None:
    """Start once, as a hub of its own: with its own store, at the same instant as others."""
    site = Site(server=SMALL, database={"url": url})
    town = Town(open_store(site, Places(data)), site)
    made = planned(town, name, "wheat")
    barrier.wait(DEADLINE_S)
    try:
        answers.put(claimed(town, made))
    except LaunchRefused as refused:
        answers.put(refused.reason)


def race(town: Town) -> None:
    """Let six processes start at once where three fit; twice, as a race is not lost every time."""
    spawning = multiprocessing.get_context("spawn")
    cap(town, "wheat", 3 * 512 * MIB)
    for _ in range(2):
        barrier, answers = spawning.Barrier(len(PEOPLE)), spawning.Queue()
        given_ = (town.store.places.data, town.site.database.url)
        processes = [
            spawning.Process(target=start_in_process, args=(*given_, name, barrier, answers)) for name in PEOPLE
        ]
        for process in processes:
            process.start()
        found = [answers.get(timeout=DEADLINE_S) for _ in processes]
        for process in processes:
            process.join(DEADLINE_S)
            assert process.exitcode == 0
        assert found.count("project-ceiling") == 3
        assert set(holding(town)) == set(found) - {"project-ceiling"}
        with town.store.write() as session:
            for start_id in holding(town):
                servers.release(session, start_id)
        assert holding(town) == {}


def test_of_processes_that_start_at_once_as_many_are_let_in_as_fit(town: Town) -> None:
    race(town)


def test_of_processes_that_start_at_once_as_many_are_let_in_as_fit_on_postgresql(town_on_postgresql: Town) -> None:
    race(town_on_postgresql)


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(["wheat", "rye"]), st.sampled_from([*SIZES, "stop"])),
    max_size=25,
)


def check_book(town: Town, operations: list[tuple[str, str, str]]) -> None:
    """Whatever starts and stops in whatever order, the table says who holds what, and no sum is exceeded."""
    with town.store.write() as session:
        session.query(ServerRow).delete()
        session.query(MemberRow).update({MemberRow.last_size: ""})
    most = 2 * GIB
    cap(town, "wheat", most)
    book: dict[tuple[str, str], tuple[str, int]] = {}
    last: dict[tuple[str, str], str] = {}
    for name, slug, what in operations:
        key = (name, slug)
        if what == "stop":
            start_id, _ = book.pop(key, ("of nobody", 0))
            with town.store.write() as session:
                servers.release(session, start_id)
            continue
        made = planned(town, name, slug, next(size for size in SIZES if size == what))
        wheat = sum(held for (_, where), (_, held) in book.items() if where == "wheat" and (_, where) != key)
        before = book.get(key, ("", 0))[1] if slug == "wheat" else 0
        fits = slug == "rye" or wheat - before + made.resources.memory_bytes <= most
        if not fits:
            with pytest.raises(LaunchRefused) as refused:
                claimed(town, made)
            assert refused.value.reason == "project-ceiling"
            continue
        start_id = claimed(town, made)
        book[key], last[key] = (start_id, made.resources.memory_bytes), what
    with town.store.read() as session:
        rows = {(each.person_name, each.project_slug): each for each in servers.held(session)}
        assert {key: (each.start_id, each.memory_bytes) for key, each in rows.items()} == book
        for name, slug in {(name, slug) for name, slug, _ in operations}:
            person = people.find_person(session, name)
            assert person is not None
            assert servers.last_size(session, town.project(slug).id, person.id) == last.get((name, slug), "")


SAME_TOWN = (HealthCheck.function_scoped_fixture,)


@settings(max_examples=15, deadline=None, suppress_health_check=SAME_TOWN)
@given(OPERATIONS)
def test_the_table_says_who_holds_what(town: Town, operations: list[tuple[str, str, str]]) -> None:
    check_book(town, operations)


@settings(max_examples=15, deadline=None, suppress_health_check=SAME_TOWN)
@given(OPERATIONS)
def test_the_table_says_who_holds_what_on_postgresql(
    town_on_postgresql: Town, operations: list[tuple[str, str, str]]
) -> None:
    check_book(town_on_postgresql, operations)


def test_a_refused_start_holds_nothing_and_forgets_nothing(town: Town) -> None:
    first = claimed(town, planned(town, "p0", "wheat", "s"))
    cap(town, "wheat", 512 * MIB)
    too_large = planned(town, "p0", "wheat", "l")
    with pytest.raises(LaunchRefused) as refused:
        check_room(town.store, town.site, too_large)
    assert refused.value.what == "Size L takes 1.0 GiB of memory, and the project “wheat” may hold 0.5 GiB."
    with pytest.raises(LaunchRefused):
        claimed(town, too_large)
    assert holding(town) == {first: ("p0", "wheat")}
    offers = read_offers(town.store, town.site, town.actor("p0").person_id or 0, town.project("wheat"))
    assert offers.usual == "s"
    assert [each.fits for each in offers.offered] == [True, True, False]


def test_members_see_each_other_and_nobody_else(town: Town) -> None:
    """p0 is in wheat and rye; eva is in neither, and her personal project is hers alone."""
    with town.store.write() as session:
        maize = projects.add_project(session, "maize", "Maize", first_gid=2_000_000)
        eva = people.find_person(session, "eva")
        assert eva is not None
        projects.add_member(session, maize.id, eva.id)
    claimed(town, planned(town, "eva", "maize"))
    claimed(town, planned(town, "p1", "rye"))
    half_a_core = {"cpu_overcommit": 0.5 / machine_of(town.site).cores}
    site = town.site.model_copy(update={"server": town.site.server.model_copy(update=half_a_core)})
    with pytest.raises(LaunchRefused) as refused:
        check_room(town.store, site, planned(town, "p0", "wheat"))
    assert refused.value.reason == "no-room"
    assert "p1 holds 0.2 cores in “Rye”. Another server holds 0.2 cores." in refused.value.what
