"""What a change of rules would do: who gains, who waits, and what would be wrong with it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bancada_hub.errors import Told, told
from bancada_hub.gpus.scheduling.forecast import History
from bancada_hub.gpus.scheduling.placement import may_hold
from bancada_hub.gpus.scheduling.rules import DAY_S, Rules, Terms, calendar
from bancada_hub.gpus.scheduling.values import Card, Request, Shape, State
from bancada_hub.gpus.scheduling.why import Explainer, Reader

SOONEST_S = 300.0
LOOK_AHEAD_S = 366 * DAY_S
EVERYTHING = Reader(0, everything=True)


@dataclass(frozen=True)
class Outlook:
    """How one project would fare.

    Args:
        granted: Requests of it that would be granted at once.
        place: The best place of its requests that would still wait; None when none would.
        wait_s: How long the first of those may wait, in the middle; None when none would, or nothing suits.
    """

    granted: int
    place: int | None = None
    wait_s: float | None = None


@dataclass(frozen=True)
class Change:
    """How one project fares now, and how it would."""

    project_id: int
    before: Outlook
    after: Outlook


@dataclass(frozen=True)
class Preview:
    """What a change of rules would do.

    Args:
        gains: Projects that would be served more or sooner.
        waits: Projects that would be served less or later.
        over: Leases that go on although the new rules would not give them; nobody's work is ended.
        problems: What is wrong with the new rules: they cannot be set.
    """

    gains: tuple[Change, ...] = ()
    waits: tuple[Change, ...] = ()
    over: tuple[int, ...] = ()
    problems: tuple[Told, ...] = ()


def preview(state: State, rules: Rules, history: History, now_s: float) -> Preview:
    """Return what other rules would do, were they set now.

    Args:
        state: The state as it is.
        rules: The other rules.
        history: The past.
        now_s: The instant.
    """
    problems = tuple(new_problems(state.rules, rules, state.cards, now_s))
    if problems:
        return Preview(problems=problems)
    before, after = _outlooks(state, history, now_s), _outlooks(replace(state, rules=rules), history, now_s)
    changes = [Change(each, before[each], after[each]) for each in sorted(before)]
    gains = tuple(change for change in changes if _rank(change.after) < _rank(change.before))
    waits = tuple(change for change in changes if _rank(change.after) > _rank(change.before))
    return Preview(gains, waits, tuple(_over(state, rules, now_s)))


def _rank(outlook: Outlook) -> tuple[float, ...]:
    """Order outlooks, better ones first."""
    wait_s = outlook.wait_s if outlook.wait_s is not None else math.inf if outlook.place else 0.0
    return (-outlook.granted, wait_s == math.inf, outlook.place or 0, wait_s // 60)


def _outlooks(state: State, history: History, now_s: float) -> dict[int, Outlook]:
    explainer = Explainer(state, now_s, history)
    granted: dict[int, int] = {}
    for grant in explainer.decisions.grants:
        project_id = grant.lease.request.project_id
        granted[project_id] = granted.get(project_id, 0) + 1
    first: dict[int, Request] = {}
    for request in explainer.order:
        first.setdefault(request.project_id, request)
    found = {}
    for project_id in {pair[0] for pair in state.waiting.pairs}:
        outlook = Outlook(granted.get(project_id, 0))
        if project_id in first:
            why = explainer.why(first[project_id].id, EVERYTHING)
            outlook = replace(outlook, place=why.place, wait_s=why.wait.middle_s if why.wait else None)
        found[project_id] = outlook
    return found


def _over(state: State, rules: Rules, now_s: float) -> list[int]:
    """Return the newest leases of each project and lab that would be beyond its limit or ceiling."""
    terms = calendar(rules, now_s, now_s)[0][1]
    held: dict[tuple[str, int], int] = {}
    found = []
    for lease in sorted(state.leases.values(), key=lambda each: (each.granted_s, each.id)):
        project_id, lab = lease.request.project_id, terms.lab_of(lease.request.project_id)
        limits = (("project", project_id, terms.project(project_id).limit), ("lab", lab.lab_id, lab.ceiling))
        beyond = False
        for kind, number, most in limits:
            held[kind, number] = held.get((kind, number), 0) + lease.milli
            beyond = beyond or (most is not None and held[kind, number] > most * 1000)
        if beyond:
            found.append(lease.id)
    return found


def new_problems(before: Rules, after: Rules, cards: Sequence[Card], now_s: float) -> list[Told]:
    """Return what would be wrong that is not wrong now: a card that failed keeps nobody from changing the rest.

    Args:
        before: The rules as they are.
        after: The rules as they would be.
        cards: The inventory.
        now_s: The instant.
    """
    known = {str(each) for each in problems_of(before, cards, now_s)}
    return [each for each in problems_of(after, cards, now_s) if str(each) not in known]


def problems_of(rules: Rules, cards: Sequence[Card], now_s: float) -> list[Told]:
    """Return what is wrong with rules, now or at any turn of them within a year.

    Args:
        rules: The rules.
        cards: The inventory.
        now_s: The instant.
    """
    found: dict[str, Told] = {}
    for _, terms in calendar(rules, now_s, now_s + LOOK_AHEAD_S):
        for problem in [*_of_numbers(terms), *_of_sums(terms, rules, cards)]:
            found.setdefault(str(problem), problem)
    return list(found.values())


def _of_numbers(terms: Terms) -> list[Told]:
    found = []
    for rule in terms.projects.values():
        values = {"project": rule.project_id}
        if not rule.weight > 0:
            found.append(told("The weight of project %(project)s must be more than 0.", **values))
        if min(rule.guarantee, rule.limit or 0, rule.person_limit or 0, rule.memory_bytes) < 0:
            found.append(told("Limits and guarantees of project %(project)s cannot be negative.", **values))
        if rule.limit is not None and rule.guarantee > rule.limit:
            values |= {"n": rule.guarantee, "most": rule.limit}
            found.append(told("The guarantee of project %(project)s (%(n)s) is above its limit (%(most)s).", **values))
    return found + [
        told("The weight of lab %(lab)s must be more than 0, its ceiling at least 0.", lab=lab.lab_id)
        for lab in terms.labs.values()
        if not lab.weight > 0 or (lab.ceiling or 0) < 0
    ]


def _of_sums(terms: Terms, rules: Rules, cards: Sequence[Card]) -> list[Told]:
    found = []
    guaranteed = [rule for rule in terms.projects.values() if rule.guarantee > 0]
    for lab in terms.labs.values():
        total = sum(rule.guarantee for rule in guaranteed if rule.lab_id == lab.lab_id)
        if lab.ceiling is not None and total > lab.ceiling:
            values = {"lab": lab.lab_id, "n": total, "most": lab.ceiling}
            found.append(told("The guarantees in lab %(lab)s sum to %(n)s; its ceiling is %(most)s.", **values))
    whole = [card for card in cards if card.general and may_hold(card, 0)]
    for memory_bytes in sorted({rule.memory_bytes for rule in guaranteed}):
        total = sum(rule.guarantee for rule in guaranteed if rule.memory_bytes >= memory_bytes)
        there = sum(Shape(memory_bytes=memory_bytes).suits(card) for card in whole)
        if total > there:
            sizes: dict[str, object] = {"n": total, "there": there}
            problem = told("Guaranteed cards: %(n)s; in service: %(there)s.", **sizes)
            if memory_bytes:
                sizes |= {"gib": f"{memory_bytes / 2**30:g}"}
                problem = told("Guaranteed cards with %(gib)s GiB or more: %(n)s; in service: %(there)s.", **sizes)
            found.append(problem)
    return found + [
        told("Project %(project)s cannot be given its cards within less than 5 min.", project=rule.project_id)
        for rule in guaranteed
        if rule.within_s < max(SOONEST_S, 2 * rules.settle_s)
    ]
