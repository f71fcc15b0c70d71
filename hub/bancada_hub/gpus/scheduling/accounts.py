"""Decayed use: what is held beyond guarantees counts for its project and lab, and half as much a half-life later."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from bancada_hub.gpus.scheduling.rules import Rules, Terms, calendar, terms_at
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Lease, Pair, State, Use

FORGOTTEN = 1.0
"""Use below this (a thousandth of a card for a second) is dropped."""


@dataclass
class Holdings:
    """What everybody holds now, in thousandths of a card.

    Args:
        terms: The rules as they are.
        labs: By lab.
        projects: By project.
        people: By person, over all projects.
        pairs: By person in a project.
        lab_beyond: By lab, what its projects hold beyond their guarantees.
    """

    terms: Terms
    labs: dict[int, int] = field(default_factory=dict)
    projects: dict[int, int] = field(default_factory=dict)
    people: dict[int, int] = field(default_factory=dict)
    pairs: dict[Pair, int] = field(default_factory=dict)
    lab_beyond: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, leases: Iterable[Lease], terms: Terms) -> "Holdings":
        """Return the holdings of some leases."""
        made = cls(terms)
        for lease in leases:
            made.add(lease.request.project_id, lease.request.person_id, lease.milli)
        return made

    def add(self, project_id: int, person_id: int, milli: int) -> None:
        """Count a lease in."""
        lab, guaranteed = self.terms.lab_of(project_id).lab_id, self.terms.project(project_id).guarantee * CARD_MILLI
        before = self.projects.get(project_id, 0)
        beyond = max(0, before + milli - guaranteed) - max(0, before - guaranteed)
        self.labs[lab] = self.labs.get(lab, 0) + milli
        self.projects[project_id] = before + milli
        self.people[person_id] = self.people.get(person_id, 0) + milli
        pair = (project_id, person_id)
        self.pairs[pair] = self.pairs.get(pair, 0) + milli
        self.lab_beyond[lab] = self.lab_beyond.get(lab, 0) + beyond

    def beyond(self, project_id: int) -> int:
        """Return what a project holds beyond its guarantee."""
        return max(0, self.projects.get(project_id, 0) - self.terms.project(project_id).guarantee * CARD_MILLI)


def advance(state: State, now_s: float) -> Use:
    """Return everybody's use, counted to an instant; one in the past only sets the clock back.

    Nobody is charged for longer than their lease may last: a clock that jumped a year ahead costs nobody a year.
    """
    use = state.use
    if now_s <= use.at_s:
        return replace(use, at_s=now_s)
    begin_s = use.at_s
    if not state.leases:
        return _decayed(use, now_s, state.rules)
    stops = sorted({lease.ends_s for lease in state.leases.values() if begin_s < lease.ends_s < now_s})
    turning = [at_s for at_s, _ in calendar(state.rules, begin_s, min(now_s, stops[-1] if stops else now_s))[1:]]
    for at_s in sorted({*stops, *turning, now_s}):
        mid_s = (use.at_s + at_s) / 2
        live = [lease for lease in state.leases.values() if lease.ends_s > mid_s]
        use = _step(use, at_s, live, state.rules)
    return use


def _step(use: Use, at_s: float, live: list[Lease], rules: Rules) -> Use:
    terms = terms_at(rules, use.at_s)
    held = Holdings.of(live, terms)
    beyond = {project_id: held.beyond(project_id) for project_id in held.projects}
    keep, gain = _factors(at_s - use.at_s, rules.half_life_s)
    return Use(
        at_s,
        _accrued(use.labs, held.lab_beyond, keep, gain),
        _accrued(use.projects, beyond, keep, gain),
        _accrued(use.people, held.pairs, keep, gain),
    )


def _decayed(use: Use, at_s: float, rules: Rules) -> Use:
    return _step(use, at_s, [], rules)


def _factors(elapsed_s: float, half_life_s: float) -> tuple[float, float]:
    """Return what is left of old use, and what one thousandth held all the time adds, decay included."""
    elapsed_s = min(elapsed_s, half_life_s)  # a clock that jumped years ahead forgets no more than half
    keep = math.exp2(-elapsed_s / half_life_s)
    return keep, (1 - keep) * half_life_s / math.log(2)


def _accrued(
    old: Mapping[int, float] | Mapping[Pair, float],
    held: Mapping[int, int] | Mapping[Pair, int],
    keep: float,
    gain: float,
) -> dict:  # type: ignore[type-arg]  # keys are numbers or pairs, as they came
    new = {key: value * keep for key, value in old.items() if value * keep >= FORGOTTEN}
    for key, milli in held.items():
        if milli:
            new[key] = new.get(key, 0.0) + milli * gain
    return new
