"""From a card's release to the next grant, and from a request to its answer, each a durable transaction on SQLite.

    .venv/bin/python bench/queue_rows.py [--rounds N]

A new database (WAL, synchronous=FULL) in a new directory; the state of bench/queue_decide.py: 10,000 requests wait for
64 cards. A round releases one lease, decides and commits; then somebody asks, it is decided and committed. One process,
no HTTP; what is measured is what the console adds to a request for cards. The first decision, which reads all requests,
is what a restart costs.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.orm import Session

from bancada_hub.gpus import broker
from bancada_hub.gpus.scheduling.values import Decisions, Request, State
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store import people, projects
from bancada_hub.store.database import Store, migrate, open_store
from queue_decide import START_S, WAITING, make_request, make_state, show

GOAL_MS = 250.0
FIRST = people.FirstNumbers(2_000_000, 2_000_000)


def fill(store: Store, state: State) -> None:
    """Make the people and projects of a state, and its requests."""
    with store.write() as session:
        for number in range(max(request.person_id for request in state.waiting) + 1):
            people.add_person(session, f"p{number}", None, admin=False, first=FIRST)
        for number in range(max(request.project_id for request in state.waiting) + 1):
            projects.add_project(session, f"g{number}", f"G{number}", first_gid=3_000_000)
        for project_id, person_id in state.waiting.pairs:
            projects.add_member(session, project_id, person_id + 1)
        for request in state.waiting:
            _ask(session, request)


def _ask(session: Session, request: Request) -> int:
    pair = (request.project_id, request.person_id + 1)
    return broker.ask(session, pair, request.shape, request.on_grant, request.asked_s)


def measure(store: Store, rounds: int) -> tuple[float, list[float], list[float]]:
    """Return how long the first decision took, each release with its decision, and each request with its decision."""
    rng = random.Random(5)
    state = make_state(rng)
    fill(store, state)
    lab, queue, now_s = broker.Lab(state.cards, state.rules), broker.Broker(store), START_S
    first_ms, decisions = _timed(lambda: queue.decide(lab, now_s))
    live = _claim(store, decisions, now_s)
    released, asked = [], []
    for number in range(rounds):
        now_s += 60
        lease_id = live.pop(rng.randrange(len(live)))

        def end(session: Session, number: int = lease_id, at_s: float = now_s) -> None:
            broker.release(session, lab, number, at_s)

        took_ms, decisions = _timed(lambda: queue.decide(lab, now_s, end))  # noqa: B023 - called at once
        released.append(took_ms)
        live += _claim(store, decisions, now_s)
        request = make_request(rng, WAITING + number, now_s)
        took_ms, decisions = _timed(lambda: queue.decide(lab, now_s, lambda session: _ask(session, request)))  # noqa: B023
        asked.append(took_ms)
        live += _claim(store, decisions, now_s)
    return first_ms, released, asked


def _claim(store: Store, decisions: Decisions, now_s: float) -> list[int]:
    """Let servers take what was granted, and return its numbers."""
    granted = [grant.lease.id for grant in decisions.grants]
    with store.write() as session:
        for lease_id in granted:
            broker.claim(session, lease_id, f"s{lease_id}", now_s)
    return granted


def _timed(work: Callable[[], Decisions]) -> tuple[float, Decisions]:
    begin = time.perf_counter()
    decisions = work()
    return (time.perf_counter() - begin) * 1000, decisions


def main() -> int:
    """Measure; the exit status says whether the goal is met."""
    parser = argparse.ArgumentParser(description="From release to grant, and from request to answer, in the database.")
    parser.add_argument("--rounds", type=int, default=200, help="how many rounds are timed")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        places = Places(Path(directory))
        places.site.mkdir(parents=True)
        migrate(Site(), places)
        first_ms, released, asked = measure(open_store(Site(), places), parser.parse_args().rounds)
    print(f"{'milliseconds, transactions with commit':<44} {'n':>6} {'median':>9} {'p99':>9} {'longest':>9}")
    p99 = show("release, decision, grant", released)
    show("request, decision, answer", asked)
    print(f"first decision, all {WAITING} requests read: {first_ms:.0f} ms")
    met = p99 <= GOAL_MS
    print(f"Goal: {GOAL_MS:g} ms at p99 from release to grant, {'met' if met else 'not met'}.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
