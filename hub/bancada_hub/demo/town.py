"""Who and what the demo's site is made of: a lab, three projects, six people, and thirty days behind them."""

import random
import time
from dataclasses import asdict, dataclass

from sqlalchemy.orm import Session

from bancada_hub.gpus.scheduling.rules import DAY_S, HOUR_S, Purpose
from bancada_hub.gpus.scheduling.values import CARD_MILLI, OnGrant, Shape
from bancada_hub.gpus.simulated import uuid_of
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.projects.labs import add_lab_lead, create_lab
from bancada_hub.projects.projects import NewProject, add_member, create_project
from bancada_hub.roles import Actor
from bancada_hub.site import Site
from bancada_hub.store import gpu_rules, labs, leases, people, projects, requests
from bancada_hub.store.database import Store
from bancada_hub.store.gpu_rules import ProjectShare

LAB, CARDS, DAYS = "demo", 4, 30
PASSWORD = "a demo has no secrets"  # noqa: S105 - of a site on 127.0.0.1 that is thrown away; its sign-in page shows it
SEED = 2026


@dataclass(frozen=True)
class DemoPerson:
    """Somebody whom a visitor can sign in as.

    Args:
        name: The account.
        title: What pages call them.
        role: "admin", "lead" or "researcher".
        projects: Where they work.
        crowd: Whether the demo itself acts for them.
    """

    name: str
    title: str
    role: str
    projects: tuple[str, ...] = ()
    crowd: bool = False


PROJECTS = (
    ("vision", "Vision", ProjectShare(gpu_guarantee=2)),
    ("speech", "Speech", ProjectShare(gpu_guarantee=1, max_person_gpus=2)),
    ("genomics", "Genomics", ProjectShare(max_gpus=3)),
)
EVERYWHERE = tuple(slug for slug, _, _ in PROJECTS)
PEOPLE = (
    DemoPerson("ana", "Ana", "researcher", ("vision", "speech")),
    DemoPerson("lia", "Lia", "lead", EVERYWHERE),
    DemoPerson("ines", "Inês", "admin"),
    DemoPerson("bea", "Bea", "researcher", EVERYWHERE, crowd=True),
    DemoPerson("gil", "Gil", "researcher", EVERYWHERE, crowd=True),
    DemoPerson("rui", "Rui", "researcher", EVERYWHERE, crowd=True),
)


def fill(store: Store, site: Site, now_s: float | None = None) -> None:
    """Make the demo's people, lab, projects, shares and past; nothing is done twice."""
    with store.read() as session:
        if labs.find_lab(session, LAB):
            return
    line = Actor.command_line()
    create_lab(store, line, LAB, "Demo lab")
    for slug, title, _ in PROJECTS:
        create_project(store, site, line, NewProject(slug, title, LAB))
    for person in PEOPLE:
        account = NewAccount(
            person.name,
            admin=person.role == "admin",
            password=PASSWORD,
            display_name=person.title,
            must_change=False,
        )
        add_account(store, site, line, account)
        for slug in person.projects:
            add_member(store, line, slug, person.name, lead=False)
        if person.role == "lead":
            add_lab_lead(store, line, LAB, person.name)
    with store.write() as session:
        for slug, _, share in PROJECTS:
            gpu_rules.set_project_share(session, _project(session, slug), share)
        put_past(session, time.time() if now_s is None else now_s)


def put_past(session: Session, now_s: float) -> int:
    """Add leases of the past thirty days, by which waits are foretold; returns how many.

    They are plausible and not real: drawn from a seed, lognormal lengths as in bench/queue_months.py.
    """
    rng, made = random.Random(SEED), 0  # noqa: S311 - no secret
    free_s = {uuid_of(card): now_s - DAYS * DAY_S for card in range(CARDS)}
    crowd = [(slug, person.name) for person in PEOPLE if person.projects for slug in person.projects]
    while (card := min(free_s, key=lambda uuid: free_s[uuid])) and free_s[card] < now_s - DAY_S:
        slug, name = rng.choice(crowd)
        purpose = rng.choice((Purpose.INTERACTIVE, Purpose.INTERACTIVE, Purpose.TRAINING))
        middle_s = (2 if purpose is Purpose.INTERACTIVE else 8) * HOUR_S
        granted_s = free_s[card] + rng.expovariate(1 / HOUR_S)
        ended_s = granted_s + min(middle_s * rng.lognormvariate(0, 0.7), 6 * middle_s)
        pair = (_project(session, slug), _person(session, name))
        shape = Shape(cards=1, purpose=purpose, wanted_s=6 * middle_s)
        new = requests.NewRequest(*pair, asdict(shape), OnGrant.HOLD.value, granted_s - rng.expovariate(1 / HOUR_S))
        number = requests.add_request(session, new)
        requests.close_request(session, number, requests.RequestState.GRANTED, None, granted_s)
        lease = leases.StoredLease(
            number, (card,), CARD_MILLI, granted_s, ended_s, None, backfill=False, server=f"demo-{number}"
        )
        leases.add_lease(session, lease, {card: 1})
        leases.end_lease(session, number, ended_s)
        free_s[card] = ended_s
        made += 1
    return made


def _project(session: Session, slug: str) -> int:
    found = projects.find_project(session, slug)
    assert found is not None  # noqa: S101 - `fill` made it
    return found.id


def _person(session: Session, name: str) -> int:
    found = people.find_person(session, name)
    assert found is not None  # noqa: S101 - `fill` made them
    return found.id
