"""The people for whom the demo itself acts: they ask for cards, keep them a while and give them back.

Everything goes through what people's own requests go through, and is on record as theirs, from the origin "demo".
"""

import logging
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from bancada_hub.demo.town import CARDS, PEOPLE
from bancada_hub.errors import BancadaError
from bancada_hub.gpus.asking import Asker, ask, cancel
from bancada_hub.gpus.broker import Lab
from bancada_hub.gpus.lab import read_lab
from bancada_hub.gpus.scheduling.rules import Purpose
from bancada_hub.gpus.simulated import simulated_inventory
from bancada_hub.installation import read_installation
from bancada_hub.roles import Actor
from bancada_hub.store import leases, people, projects, requests
from bancada_hub.store.database import Store, open_store

TICK_S = 4.0
OPEN_MOST = CARDS + 2
"""So many of the crowd's requests are open at once: all cards are taken, and somebody waits."""
SHORTEST_S, LONGEST_S = 45.0, 150.0

log = logging.getLogger("bancada.demo")


@dataclass(frozen=True)
class Open:
    """A request of the crowd that waits or holds.

    Args:
        request_id: Its number.
        person: Whose.
        project: In which project.
        since_s: Since when it holds a card; None while it waits.
    """

    request_id: int
    person: str
    project: str
    since_s: float | None


@dataclass(frozen=True)
class Step:
    """What the crowd does next: gives a card back, or asks for one."""

    person: str
    project: str = ""
    give_back: int | None = None


def next_step(open_now: Sequence[Open], now_s: float, rng: random.Random) -> Step | None:
    """Return what the crowd does at an instant; None for nothing.

    Args:
        open_now: Its requests.
        now_s: The instant.
        rng: Where chance comes from.
    """
    for each in open_now:
        # A length of its own for each lease, the same whenever this is asked.
        lasts_s = random.Random(each.request_id).uniform(SHORTEST_S, LONGEST_S)  # noqa: S311 - no secret
        if each.since_s is not None and now_s - each.since_s > lasts_s:
            return Step(each.person, give_back=each.request_id)
    if len(open_now) >= OPEN_MOST:
        return None
    taken = {(each.person, each.project) for each in open_now}
    left = [
        (person.name, slug)
        for person in PEOPLE
        if person.crowd
        for slug in person.projects
        if (person.name, slug) not in taken
    ]
    return Step(*rng.choice(left)) if left else None


def open_requests(session: Session) -> list[Open]:
    """Return the crowd's requests that wait or hold."""
    crowd = {person.name for person in PEOPLE if person.crowd}
    held = {lease.request_id: lease.granted_s for lease, _ in leases.live_leases(session)}
    found = []
    for number in sorted(requests.waiting_ids(session) | held.keys()):
        request = requests.find_request(session, number)
        if request is None:
            continue
        name = people.get_person(session, request.person_id).name
        if name in crowd:
            slug = projects.get_project(session, request.project_id).slug
            found.append(Open(number, name, slug, held.get(number)))
    return found


def act(store: Store, rng: random.Random, now_s: float) -> Step | None:
    """Let the crowd do one thing; returns what."""
    with store.read() as session:
        step = next_step(open_requests(session), now_s, rng)
        lab: Lab = read_lab(session, simulated_inventory(CARDS))
        person = people.find_person(session, step.person) if step else None
    if step is None or person is None:
        return None
    actor = Actor(person.id, person.name, person.admin, origin="demo")
    if step.give_back is not None:
        cancel(store, actor, step.give_back, now_s)
        return step
    purpose = rng.choice((Purpose.INTERACTIVE, Purpose.TRAINING))
    asked = {"cards": 1, "purpose": purpose.value, "on_grant": "hold", "hours": rng.choice((1, 2, 4))}
    ask(store, actor, Asker(step.person, step.project), asked, lab, now_s)
    return step


def main() -> None:
    """Act for ever, for the demo at BANCADA_DATA."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    installation = read_installation(Path(os.environ["BANCADA_DATA"]))
    store, rng = open_store(installation.site, installation.places), random.Random()  # noqa: S311 - no secret
    while installation.facts.demo:
        try:
            act(store, rng, time.time())
        except (BancadaError, SQLAlchemyError) as error:
            log.info("%s", error)  # somebody else was first; the next step comes soon
        time.sleep(TICK_S)


if __name__ == "__main__":
    main()
