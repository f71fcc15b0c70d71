"""The queue in the database: SQLite, and a real PostgreSQL; several processes, some of which die."""

import multiprocessing
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError

from bancada_hub.gpus import broker
from bancada_hub.gpus.scheduling.schedule import schedule
from bancada_hub.gpus.scheduling.values import OnGrant, Shape, State
from bancada_hub.store import leases, people, projects, requests
from bancada_hub.store.database import Store
from bancada_hub.store.requests import RequestState
from tests.hub.domain import Town, make_town
from tests.hub.gpus import asking
from tests.hub.gpus.asking import LAB

SPAWN = multiprocessing.get_context("spawn")  # a forked database connection would be everybody's


@dataclass(frozen=True)
class Place:
    """A database with people in two projects."""

    town: Town
    directory: str
    url: str
    pairs: tuple[tuple[int, int], ...]

    @property
    def store(self) -> Store:
        return self.town.store

    def state(self) -> State:
        with self.store.read() as session:
            return broker.load(session, LAB)


def make_place(directory: Path, url: str = "") -> Place:
    town = make_town(directory, url)
    town.quickly(*(f"p{n}" for n in range(8)))
    with town.store.write() as session:
        everybody = [people.find_person(session, f"p{n}") for n in range(8)]
        shared = [projects.find_project(session, slug) for slug in ("wheat", "rye")]
        pairs = [(shared[n % 2].id, person.id) for n, person in enumerate(everybody)]
        for project_id, person_id in pairs:
            projects.add_member(session, project_id, person_id)
    return Place(town, str(directory), url, tuple(pairs))


@pytest.fixture
def place(tmp_path):
    made = make_place(tmp_path / "d")
    yield made
    made.store.engine.dispose()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.database)])
def either(request, tmp_path):
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    made = make_place(tmp_path / "d", url)
    yield made
    made.store.engine.dispose()


def sane(state: State) -> None:
    """No card has two holders, and nobody both waits and holds."""
    taken = Counter(uuid for lease in state.leases.values() for uuid in lease.cards)
    assert max(taken.values(), default=0) <= 1
    assert not state.leases.keys() & state.waiting.by_id.keys()


def test_fifty_ask_at_once_from_several_processes(either):
    """D16: nobody gets a card that another has, nothing is lost, and nobody gets more than they may."""
    asks = [[either.pairs[(worker + n) % 8] for n in range(10)] for worker in range(5)]
    with ProcessPoolExecutor(5, mp_context=SPAWN) as pool:
        found = [pool.submit(asking.ask, either.directory, either.url, pairs) for pairs in asks]
        numbers = [number for future in found for number in future.result()]
    state = either.state()
    sane(state)
    assert sorted(numbers) == sorted([*state.leases, *state.waiting.by_id])
    assert len(set(numbers)) == 50
    assert len(state.leases) == 8
    held = Counter(lease.request.person_id for lease in state.leases.values())
    assert max(held.values()) <= 2


def test_killed_between_decision_and_commit_nothing_has_happened(either):
    for pair in either.pairs[:4]:
        died = SPAWN.Process(target=asking.die, args=(either.directory, either.url, pair))
        died.start()
        died.join(60)
        assert died.exitcode == -9
    assert (either.state().leases, len(either.state().waiting)) == ({}, 0)
    with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        assert len(pool.submit(asking.ask, either.directory, either.url, [either.pairs[0]]).result()) == 1
    assert len(either.state().leases) == 1


def test_two_browsers_claim_one_grant(either):
    (number,) = asking.ask(either.directory, either.url, [either.pairs[0]])
    with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
        claims = [pool.submit(asking.claim, either.directory, either.url, number, server) for server in ("a", "b")]
        assert sorted(future.result() for future in claims) == [False, True]


def test_the_state_comes_back_as_it_was_written(place):
    asking.ask(place.directory, "", [*place.pairs, *place.pairs])
    first = place.state()
    assert first == place.state()
    assert (len(first.leases), len(first.waiting)) == (8, 8)
    assert first.served
    with place.store.write() as session:
        broker.decide(session, LAB, first.use.at_s + 300)
    assert place.state().use.at_s == first.use.at_s + 300
    assert sum(place.state().use.projects.values()) > 0


def test_what_a_broker_remembers_is_what_the_rows_say(place):
    """Whatever others do meanwhile, and whatever was taken back."""
    remembers = broker.Broker(place.store)
    numbers = asking.ask(place.directory, "", [*place.pairs, *place.pairs])
    at_s = place.state().use.at_s
    with pytest.raises(RuntimeError):
        remembers.decide(LAB, at_s, first=ask_and_fail(place))
    assert remembers.decide(LAB, at_s + 1, lambda session: broker.release(session, LAB, numbers[0], at_s + 1)).grants
    with place.store.write() as session:
        broker.cancel(session, numbers[-1], at_s)
        added = broker.ask(session, place.pairs[0], Shape(), OnGrant.HOLD, at_s)
    remembers.decide(LAB, at_s + 2)
    state = place.state()
    assert added in state.waiting.by_id
    assert numbers[-1] not in state.waiting.by_id
    assert remembers.decide(LAB, at_s + 3) == schedule(state, at_s + 3)


def ask_and_fail(place):
    def first(session):
        broker.ask(session, place.pairs[0], Shape(cards=2), OnGrant.HOLD, 0.0)
        raise RuntimeError

    return first


def test_the_database_refuses_a_second_holder(place):
    """Should a decision ever be wrong, its whole transaction fails."""
    numbers = asking.ask(place.directory, "", list(place.pairs))
    lease = place.state().leases[numbers[0]]
    wrong = leases.StoredLease(numbers[0] + 1000, lease.cards, 1000, time.time(), time.time() + 60)
    with place.store.write() as session:
        added = broker.ask(session, place.pairs[1], Shape(), OnGrant.HOLD, time.time())
        with pytest.raises(IntegrityError):
            leases.add_lease(session, replace(wrong, request_id=added), dict.fromkeys(lease.cards, 1))
        session.rollback()
    sane(place.state())


def test_an_end_frees_the_card_for_the_next(place):
    numbers = asking.ask(place.directory, "", [*place.pairs, place.pairs[0]])
    with place.store.write() as session:
        assert broker.release(session, LAB, numbers[3], time.time())
        assert not broker.release(session, LAB, numbers[3], time.time()), "once"
        decisions = broker.decide(session, LAB, time.time())
    assert [grant.lease.id for grant in decisions.grants] == [numbers[-1]]
    with place.store.read() as session:
        granted = requests.find_request(session, numbers[-1])
    assert granted.state is RequestState.GRANTED
    assert granted.reason == decisions.grants[0].reason
    assert granted.reason.template == decisions.grants[0].reason.template


def test_whoever_is_no_longer_in_the_project_leaves_the_queue(place):
    """D12: a member removed while waiting; those of the disabled and of archived projects go too."""
    numbers = asking.ask(place.directory, "", [*place.pairs, *place.pairs[:3]])
    removed, disabled, other = place.pairs[:3]
    with place.store.write() as session:
        projects.drop_member(session, *removed)
        people.set_disabled(session, disabled[1], disabled=True)
        decisions = broker.decide(session, LAB, time.time())
        assert {drop.request_id for drop in decisions.drops} == set(numbers[8:10])
        assert requests.count_waiting(session, other[1]) == 1
        assert requests.find_request(session, numbers[8]).state is RequestState.DROPPED


def test_a_cancelled_request_is_gone_once(place):
    numbers = asking.ask(place.directory, "", [*place.pairs, place.pairs[0]])
    with place.store.write() as session:
        assert broker.cancel(session, numbers[-1], time.time())
        assert not broker.cancel(session, numbers[-1], time.time())
        assert not broker.cancel(session, numbers[0], time.time()), "granted meanwhile"
        assert not broker.claim(session, numbers[-1], "a", time.time())


def test_an_unclaimed_grant_passes_on_in_the_database(place):
    numbers = asking.ask(place.directory, "", [*place.pairs, place.pairs[0]])
    at_s = place.state().use.at_s
    with place.store.write() as session:
        for step_s in range(300, 1200, 300):
            decisions = broker.decide(session, LAB, at_s + step_s)
    assert numbers[-1] in {grant.lease.id for grant in decisions.grants}
    sane(place.state())
