"""Limits, guarantees and weights, and the dates and hours at which they hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import TypeVar

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
MINUTES_A_DAY = 1440

T = TypeVar("T")


class Purpose(StrEnum):
    """What cards are asked for."""

    INTERACTIVE = "interactive"
    TRAINING = "training"
    INFERENCE = "inference"
    PREPARATION = "preparation"


@dataclass(frozen=True)
class ProjectRule:
    """What one project may have.

    Args:
        project_id: The project.
        lab_id: Its lab; None for a personal project.
        weight: Its share of what may be borrowed, against the lab's other projects.
        limit: Most cards at once.
        person_limit: Most cards at once for each person in it.
        guarantee: Whole cards that it gets whenever it asks.
        within_s: How soon it gets them.
        memory_bytes: Least memory of the guaranteed cards; 0 for any card.
    """

    project_id: int
    lab_id: int | None = None
    weight: float = 1.0
    limit: int | None = None
    person_limit: int | None = None
    guarantee: int = 0
    within_s: float = 4 * HOUR_S
    memory_bytes: int = 0


@dataclass(frozen=True)
class LabRule:
    """What one lab may have.

    Args:
        lab_id: The lab.
        ceiling: Most cards at once for all its projects together.
        weight: Its share of what may be borrowed, against the other labs.
    """

    lab_id: int
    ceiling: int | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class Hours:
    """Hours of some days of the week; those that pass midnight count for the day on which they begin.

    Args:
        days: Days of the week, Monday is 0.
        from_minute: Minute of the day at which they begin.
        minutes: How long they last.
    """

    days: frozenset[int] = frozenset(range(7))
    from_minute: int = 0
    minutes: int = MINUTES_A_DAY

    def hold(self, at: datetime) -> bool:
        """Return whether an instant in the site's time zone is among them."""
        return any(begin <= at < end for begin, end in self.around(at))

    def around(self, at: datetime) -> list[tuple[datetime, datetime]]:
        """Return those that begin on the day of an instant or on the day before."""
        found = []
        for day in (at.date() - timedelta(days=1), at.date()):
            if day.weekday() in self.days:
                begin = datetime.combine(day, time(), at.tzinfo) + timedelta(minutes=self.from_minute)
                found.append((begin, begin + timedelta(minutes=self.minutes)))
        return found


@dataclass(frozen=True)
class Timed:
    """A change of a project's or a lab's rule that holds for a time; what is None stays as it is.

    Args:
        project_id: The project, or None.
        lab_id: The lab, or None.
        from_s: Since when; None for always.
        until_s: Until when; None for always.
        hours: At which hours; None for all.
        guarantee: Guaranteed cards.
        limit: The project's limit.
        person_limit: The limit of each person in the project.
        weight: The weight.
        ceiling: The lab's ceiling.
    """

    project_id: int | None = None
    lab_id: int | None = None
    from_s: float | None = None
    until_s: float | None = None
    hours: Hours | None = None
    guarantee: int | None = None
    limit: int | None = None
    person_limit: int | None = None
    weight: float | None = None
    ceiling: int | None = None

    def holds(self, at_s: float, zone: tzinfo) -> bool:
        """Return whether it holds at an instant."""
        if self.from_s is not None and at_s < self.from_s:
            return False
        if self.until_s is not None and at_s >= self.until_s:
            return False
        return self.hours is None or self.hours.hold(datetime.fromtimestamp(at_s, zone))


LONGEST_S: Mapping[Purpose, float] = {
    Purpose.INTERACTIVE: 12 * HOUR_S,
    Purpose.TRAINING: 7 * DAY_S,
    Purpose.INFERENCE: 7 * DAY_S,
    Purpose.PREPARATION: 4 * HOUR_S,
}


@dataclass(frozen=True)
class Rules:
    """All rules of a site.

    Args:
        projects: By project; one that is not there has no limit, no guarantee and the weight 1.
        labs: By lab.
        timed: What holds for a time; a later one wins over an earlier one.
        person_limit: Most cards at once for each person, over all projects.
        longest_s: The longest lease for each purpose.
        claim_s: How long a grant waits for its owner.
        half_life_s: After how long use counts half.
        patience_s: Whoever was not served for so long comes next.
        ahead_s: What is held is counted as used for so long ahead, so that a free lab is not given to one project.
        settle_s: How long stopping a server and seeing its card free may take.
        grace_s: What is left to a lease whose end went by unseen because the clock jumped or nobody looked.
        gap_s: The clock, or whoever looks at it, is taken to have been away when it moved on by more than this.
        zone: The time zone of hours.
    """

    projects: Mapping[int, ProjectRule] = field(default_factory=dict)
    labs: Mapping[int, LabRule] = field(default_factory=dict)
    timed: tuple[Timed, ...] = ()
    person_limit: int | None = None
    longest_s: Mapping[Purpose, float] = field(default_factory=lambda: LONGEST_S)
    claim_s: float = 15 * 60.0
    half_life_s: float = 7 * DAY_S
    patience_s: float = 7 * DAY_S
    ahead_s: float = 4 * HOUR_S
    settle_s: float = 120.0
    grace_s: float = 15 * 60.0
    gap_s: float = 10 * 60.0
    zone: tzinfo = UTC


@dataclass(frozen=True)
class Terms:
    """The rules as they are at one instant."""

    projects: Mapping[int, ProjectRule]
    labs: Mapping[int, LabRule]

    def project(self, project_id: int) -> ProjectRule:
        """Return a project's rule."""
        return self.projects.get(project_id) or ProjectRule(project_id)

    def lab_of(self, project_id: int) -> LabRule:
        """Return the rule of a project's lab; a project without a lab stands for one of its own."""
        lab_id = self.project(project_id).lab_id
        return LabRule(-project_id) if lab_id is None else self.labs.get(lab_id) or LabRule(lab_id)


def terms_at(rules: Rules, at_s: float) -> Terms:
    """Return the rules as they are at an instant."""
    if not rules.timed:
        return Terms(rules.projects, rules.labs)
    projects, labs = dict(rules.projects), dict(rules.labs)
    for change in rules.timed:
        if not change.holds(at_s, rules.zone):
            continue
        if change.project_id is not None:
            rule = projects.get(change.project_id) or ProjectRule(change.project_id)
            projects[change.project_id] = replace(
                rule,
                guarantee=_or(change.guarantee, rule.guarantee),
                limit=_or(change.limit, rule.limit),
                person_limit=_or(change.person_limit, rule.person_limit),
                weight=_or(change.weight, rule.weight),
            )
        if change.lab_id is not None:
            lab = labs.get(change.lab_id) or LabRule(change.lab_id)
            ceiling, weight = _or(change.ceiling, lab.ceiling), _or(change.weight, lab.weight)
            labs[change.lab_id] = replace(lab, ceiling=ceiling, weight=weight)
    return Terms(projects, labs)


def _or(given: T | None, otherwise: T) -> T:
    return otherwise if given is None else given


def turns(rules: Rules, from_s: float, until_s: float) -> list[float]:
    """Return the instants after one and up to another at which some rule begins or ends."""
    found = set()
    for change in rules.timed:
        found |= {at_s for at_s in (change.from_s, change.until_s) if at_s is not None}
        if change.hours is not None:
            found |= _turns_of_hours(change.hours, rules.zone, from_s, until_s)
    return sorted(at_s for at_s in found if from_s < at_s <= until_s)


def _turns_of_hours(hours: Hours, zone: tzinfo, from_s: float, until_s: float) -> set[float]:
    day, found = datetime.fromtimestamp(from_s, zone), set()
    while day.timestamp() <= until_s + DAY_S:
        for begin, end in hours.around(day):
            found |= {begin.timestamp(), end.timestamp()}
        day += timedelta(days=1)
    return found


def calendar(rules: Rules, from_s: float, until_s: float) -> list[tuple[float, Terms]]:
    """Return what holds from an instant on, and what from each turn up to another instant."""
    return [(at_s, terms_at(rules, at_s)) for at_s in (from_s, *turns(rules, from_s, until_s))]
