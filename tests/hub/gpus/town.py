"""Small labs for tests of the scheduler."""

from dataclasses import replace
from random import Random

from bancada_hub.gpus.scheduling import events
from bancada_hub.gpus.scheduling.rules import LabRule, ProjectRule, Rules
from bancada_hub.gpus.scheduling.schedule import schedule
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Card, Decisions, Request, Shape, State
from bancada_hub.gpus.scheduling.waiting import Waiting

GIB = 2**30
HOUR = 3600.0
T0 = 1_800_000_000.0


def cards(count: int, gib: int = 40) -> tuple[Card, ...]:
    """Two on a switch, four on a NUMA node."""
    return tuple(Card(f"GPU-{n}", gib * GIB, numa=n // 4, switch=f"s{n // 2}") for n in range(count))


def rules(*projects: ProjectRule, ceiling: int | None = None, **more: object) -> Rules:
    labs = {rule.lab_id for rule in projects if rule.lab_id is not None}
    return Rules(
        projects={rule.project_id: rule for rule in projects},
        labs={lab: LabRule(lab, ceiling) for lab in labs},
        **more,
    )


def ask(state: State, number: int, project: int, person: int, *, at_s: float = T0, **shape: object) -> State:
    return events.ask(state, Request(number, project, person, Shape(**shape), at_s))


def run(state: State, now_s: float) -> tuple[State, Decisions]:
    decisions = schedule(state, now_s)
    return events.apply(state, decisions), decisions


def granted(decisions: Decisions) -> list[int]:
    return [grant.lease.id for grant in decisions.grants]


def held(state: State, project: int) -> int:
    return sum(lease.milli for lease in state.leases.values() if lease.request.project_id == project) // CARD_MILLI


def from_rows(state: State, seed: int = 0) -> State:
    """The same state, built anew from its rows in another order, as after a crash."""
    rng = Random(seed)
    requests, leases, there = list(state.waiting), list(state.leases.values()), list(state.cards)
    for rows in (requests, leases, there):
        rng.shuffle(rows)
    return replace(
        state, waiting=Waiting.of(requests), leases={lease.id: lease for lease in leases}, cards=tuple(there)
    )
