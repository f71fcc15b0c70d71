"""Limits of people and projects, and labs' ceilings: what nobody gets beyond, whatever is free."""

from dataclasses import dataclass
from enum import StrEnum

from bancada_hub.gpus.scheduling.accounts import Holdings
from bancada_hub.gpus.scheduling.rules import Rules
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Card, Request, Shape


class Limit(StrEnum):
    """Whose limit."""

    PERSON = "person"
    PERSON_IN_PROJECT = "person in project"
    PROJECT = "project"
    LAB = "lab"


@dataclass(frozen=True)
class Reached:
    """A limit that a request would go beyond.

    Args:
        limit: Whose.
        most: The limit, in cards.
        held_milli: What is held of it.
    """

    limit: Limit
    most: int
    held_milli: int


def reached(request: Request, milli: int, held: Holdings, rules: Rules) -> Reached | None:
    """Return the limit that a request would go beyond, the person's own first.

    Args:
        request: The request.
        milli: How much it counts.
        held: What everybody holds, with the rules as they are.
        rules: All rules.
    """
    rule, lab = held.terms.project(request.project_id), held.terms.lab_of(request.project_id)
    pair = (request.project_id, request.person_id)
    checks = (
        (Limit.PERSON, rules.person_limit, held.people.get(request.person_id, 0)),
        (Limit.PERSON_IN_PROJECT, rule.person_limit, held.pairs.get(pair, 0)),
        (Limit.PROJECT, rule.limit, held.projects.get(request.project_id, 0)),
        (Limit.LAB, lab.ceiling, held.labs.get(lab.lab_id, 0)),
    )
    for limit, most, has in checks:
        if most is not None and has + milli > most * CARD_MILLI:
            return Reached(limit, most, has)
    return None


def most_milli(shape: Shape, suiting: list[Card]) -> int:
    """Return how much a request counts at most; the cards that suit it may be of several sizes."""
    return shape.cards * max((card.seat_milli for card in suiting), default=CARD_MILLI)
