"""What has been promised: how long a lease may last so that every guarantee is met within its stated time.

A promise is kept without ending anybody's work, so it is kept when a lease is given, by the lease's end. For an
instant `x`, every project may by then hold what it holds now and what was promised to it; what it holds fills its
guarantee first. As long as these sums are no more than the cards there are, whoever asks gets their guarantee in time:

    sum over projects of  max(held beyond x + due by x, guarantee that may be asked for and be due by x)  <=  cards

The sum only grows at few instants: now plus each guarantee's time, the same after each turn of the rules, when a
waiting guarantee is due, and when the first in the queue is due (which is what makes backfill harmless). A lease that
would break it at `x` has to end before `x`. Cards are counted in levels: all, those of at least so much memory, a
lab's ceiling.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from bancada_hub.gpus.scheduling.rules import ProjectRule, Terms, calendar
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Card, Kind, Lease, Request, Shape, State

ROUNDING_S = 1e-3


@dataclass(frozen=True)
class Level:
    """Some cards that demands compete for, or the limit of a project, or of a lab's projects together.

    Args:
        capacity: How much there is, in thousandths of a card.
        cards: The cards; None for a limit, which counts everything that the projects hold.
        projects: The projects that a limit is for.
    """

    capacity: int
    cards: frozenset[str] | None = None
    projects: frozenset[int] = frozenset()


@dataclass
class Point:
    """One level at one instant.

    Args:
        level: The level.
        at_s: The instant.
        held: What each project holds beyond it or is due by it.
        floor: What each project may ask for and be due by it.
        total: The sum over projects of the greater of the two.
    """

    level: Level
    at_s: float
    held: dict[int, int] = field(default_factory=dict)
    floor: dict[int, int] = field(default_factory=dict)
    total: int = 0

    def rise(self, project_id: int, milli: int) -> int:
        """Return by how much the sum would grow if a project held so much more."""
        held, floor = self.held.get(project_id, 0), self.floor.get(project_id, 0)
        return max(held + milli, floor) - max(held, floor)

    def add(self, project_id: int, milli: int) -> None:
        """Let a project hold so much more, or less."""
        self.total += self.rise(project_id, milli)
        self.held[project_id] = self.held.get(project_id, 0) + milli


@dataclass(frozen=True)
class Due:
    """Cards that a waiting request must have by an instant."""

    request: Request
    milli: int
    by_s: float


@dataclass(frozen=True)
class Bound:
    """Until when a lease may last.

    Args:
        ends_s: The latest end; infinite where nothing was promised that stands against it.
        point: The promise that sets it.
    """

    ends_s: float = math.inf
    point: Point | None = None


class Promises:
    """The sums, kept up to date while a decision is made.

    Args:
        state: The state.
        now_s: The instant decided for.
        dues: What waiting requests must have, guarantees first.
    """

    def __init__(self, state: State, now_s: float, dues: Iterable[Due] = ()) -> None:
        self._state, self._now_s = state, now_s
        self._calendar = calendar(state.rules, now_s, now_s + max(state.rules.longest_s.values()))
        self._starts = [at_s for at_s, _ in self._calendar]
        self.terms = self._calendar[0][1]
        self._cards = {card.uuid: card for card in state.cards}
        self._general = frozenset(card.uuid for card in state.cards if card.general)
        self._suiting: dict[tuple[str, bool, int, str], frozenset[str]] = {}
        self._dues: dict[int, Due] = {due.request.id: due for due in dues}
        self._leases = list(state.leases.values())
        self._projects = sorted({each for _, terms in self._calendar for each in terms.projects})
        self.points = self._make()

    def guaranteed(self, project_id: int, terms: Terms | None = None) -> frozenset[str]:
        """Return the cards that a project's guarantee is about: whole ones for everybody, of its memory at least."""
        rule = (terms or self.terms).project(project_id)
        return self.suiting(Shape(memory_bytes=rule.memory_bytes))

    def suiting(self, shape: Shape) -> frozenset[str]:
        """Return the general cards that suit a shape."""
        found = self._suiting.get(shape.need)
        if found is None:
            found = frozenset(uuid for uuid in self._general if shape.suits(self._cards[uuid]))
            self._suiting[shape.need] = found
        return found

    def covers(self, project_id: int, shape: Shape) -> bool:
        """Return whether any guaranteed card of a project would do for a shape."""
        cards = self.guaranteed(project_id)
        return shape.kind is Kind.WHOLE and not shape.card and bool(cards) and cards <= self.suiting(shape)

    def bound(self, project_id: int, cards: Iterable[Card], milli: int, beyond_s: float = -math.inf) -> Bound:
        """Return until when a project may hold some more cards.

        Args:
            project_id: The project.
            cards: The cards.
            milli: How much they count for limits and use.
            beyond_s: Until when it holds them already.
        """
        chosen = [card.uuid for card in cards]
        best = Bound()
        for point in self.points:
            if point.at_s >= best.ends_s or point.at_s < beyond_s:
                continue
            more = self._counted(point.level, chosen, milli, project_id)
            rise = point.rise(project_id, more) if more else 0
            if rise > 0 and point.total + rise > point.level.capacity:
                best = Bound(point.at_s, point)
        return best

    def hold(self, lease: Lease) -> None:
        """Count a new lease in."""
        self._leases.append(lease)
        self._count(self.points, lease)

    def _count(self, points: list[Point], lease: Lease) -> None:
        project_id = lease.request.project_id
        for point in points:
            if lease.ends_s > point.at_s:
                more = self._counted(point.level, lease.cards, lease.milli, project_id)
                if more:
                    point.add(project_id, more)

    def settle(self, request_id: int) -> Due | None:
        """Take away what a waiting request was due, because it is about to be served, or for a trial."""
        due = self._dues.pop(request_id, None)
        if due is not None:
            self._add_due(self.points, due, -1)
        return due

    def restore(self, due: Due) -> None:
        """Promise again what was taken away for a trial."""
        self._dues[due.request.id] = due
        self._add_due(self.points, due, 1)

    def owe(self, dues: Iterable[Due]) -> None:
        """Promise cards to waiting requests; what one was due before is forgotten."""
        self._dues |= {due.request.id: due for due in dues}
        self.points = self._make()

    def dues(self) -> list[Due]:
        """Return what is promised to waiting requests."""
        return list(self._dues.values())

    def _add_due(self, points: list[Point], due: Due, sign: int) -> None:
        project_id = due.request.project_id
        cards = self.suiting(due.request.shape)
        for point in points:
            level = point.level
            counts = project_id in level.projects if level.cards is None else bool(cards) and cards <= level.cards
            if counts and due.by_s <= point.at_s:
                point.add(project_id, sign * due.milli)

    def _make(self) -> list[Point]:
        instants = self._instants()
        points = [Point(level, at_s) for level in self._levels() for at_s in instants] if instants else []
        for point in points:
            for project_id, asks_s in self._floors(point.at_s):
                self._set_floor(point, project_id, asks_s)
        for lease in self._leases:
            self._count(points, lease)
        for due in self._dues.values():
            self._add_due(points, due, 1)
        return points

    def _instants(self) -> list[float]:
        settle_s = self._state.rules.settle_s
        found = {max(due.by_s, self._now_s) for due in self._dues.values()}
        for start_s, terms in self._calendar:
            waits = {rule.within_s for rule in terms.projects.values() if rule.guarantee}
            found |= {start_s + within_s - settle_s for within_s in waits}
        return sorted(found)

    def _levels(self) -> list[Level]:
        rules = {rule for _, terms in self._calendar for rule in terms.projects.values() if rule.guarantee}
        sets = {self.guaranteed(rule.project_id) for rule in rules}
        sets |= {self.suiting(due.request.shape) for due in self._dues.values()}
        ordered = sorted((each for each in sets if each), key=lambda each: (len(each), sorted(each)))
        levels = [self._level(cards) for cards in ordered]
        return levels + self._limits()

    def _limits(self) -> list[Level]:
        """Return the ceilings, and the limits of projects that something is promised to."""
        limits = [
            (lab.ceiling, frozenset(rule.project_id for rule in self._rules() if rule.lab_id == lab.lab_id))
            for lab in self.terms.labs.values()
        ]
        due = sorted({due.request.project_id for due in self._dues.values()})
        limits += [(self.terms.project(each).limit, frozenset({each})) for each in due]
        return [Level(most * CARD_MILLI, None, projects) for most, projects in limits if most is not None]

    def _rules(self) -> list[ProjectRule]:
        return [self.terms.project(project_id) for project_id in self._projects]

    def _level(self, cards: frozenset[str]) -> Level:
        return Level(sum(self._cards[uuid].seat_milli * self._cards[uuid].tenants for uuid in cards), cards)

    def _floors(self, at_s: float) -> Iterable[tuple[int, float]]:
        """Yield the projects that may ask for a guarantee so as to be due by an instant, and when they may ask last."""
        for project_id in self._projects:
            asks_s = at_s - self.terms.project(project_id).within_s + self._state.rules.settle_s
            if asks_s >= self._now_s - ROUNDING_S:
                yield project_id, asks_s

    def _set_floor(self, point: Point, project_id: int, asks_s: float) -> None:
        terms = self._calendar[max(0, bisect_right(self._starts, asks_s + ROUNDING_S) - 1)][1]
        rule = terms.project(project_id)
        if not rule.guarantee:
            return
        cards = self.guaranteed(project_id, terms)
        if point.level.cards is None:
            counts = project_id in point.level.projects
        else:
            counts = bool(cards) and cards <= point.level.cards
        if counts:
            point.floor[project_id] = rule.guarantee * CARD_MILLI
            point.total += rule.guarantee * CARD_MILLI

    def _counted(self, level: Level, uuids: Iterable[str], milli: int, project_id: int) -> int:
        if level.cards is None:
            return milli if project_id in level.projects else 0
        return sum(self._cards[uuid].seat_milli for uuid in uuids if uuid in level.cards)
