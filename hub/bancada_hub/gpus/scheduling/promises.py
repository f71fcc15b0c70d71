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
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from bancada_hub.gpus.scheduling.rules import Terms, calendar
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Card, Kind, Lease, Request, Shape, State

ROUNDING_S = 1e-3


@dataclass(frozen=True)
class Level:
    """Some cards that demands compete for, or the limit of a project, or of a lab's projects together.

    Args:
        capacity: How much there is, in thousandths of a card.
        cards: The cards; None for a limit, which counts everything that the projects hold.
        projects: The projects that a limit is for; for cards, those whose guarantees are about nothing else.
    """

    capacity: int
    cards: frozenset[str] | None
    projects: frozenset[int]


@dataclass
class Point:
    """One level at one instant.

    Args:
        level: The level.
        at_s: The instant.
        floor: What each project may ask for and be due by it.
        held: What each project holds beyond it or is due by it.
        total: The sum over projects of the greater of the two.
    """

    level: Level
    at_s: float
    floor: dict[int, int]
    held: dict[int, int] = field(default_factory=dict)
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


Calendar = list[tuple[float, Terms]]


class Promises:
    """The sums, kept up to date while a decision is made.

    Args:
        state: The state.
        now_s: The instant decided for.
        dues: What waiting requests must have.
        known: The rules from some earlier instant on, if they were worked out already.
    """

    def __init__(self, state: State, now_s: float, dues: Iterable[Due] = (), known: Calendar | None = None) -> None:
        self._state, self._now_s = state, now_s
        self.calendar = _from(known, now_s) if known else calendar(state.rules, now_s, now_s + _horizon_s(state))
        self._starts = [at_s for at_s, _ in self.calendar]
        self.terms = self.calendar[0][1]
        self._cards = {card.uuid: card for card in state.cards}
        self._general = frozenset(card.uuid for card in state.cards if card.general)
        self._suiting: dict[tuple[str, bool, int, str], frozenset[str]] = {}
        self._dues: dict[int, Due] = {}
        self._leases = list(state.leases.values())
        self._guaranteed = self._find_guaranteed()
        self._layers: dict[Level, list[Point]] | None = None
        if dues:
            self.owe(dues)

    def guaranteed(self, project_id: int) -> frozenset[str]:
        """Return the cards that a project's guarantee is about: whole ones for everybody, of its memory at least."""
        return self._guaranteed.get(project_id, frozenset())

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

    def lasting(self, project_id: int, length_s: float) -> int:
        """Return how many cards a project is guaranteed all the time from now on for so long."""
        until_s = self._now_s + length_s
        return min(terms.project(project_id).guarantee for at_s, terms in self.calendar if at_s <= until_s)

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
        for level, points in self._all().items():
            more = self._counted(level, chosen, milli, project_id)
            if not more:
                continue
            for point in points:
                if point.at_s >= best.ends_s:
                    break
                rise = point.rise(project_id, more)
                if rise > 0 and point.total + rise > level.capacity and point.at_s >= beyond_s:
                    best = Bound(point.at_s, point)
                    break
        return best

    def hold(self, lease: Lease) -> None:
        """Count a new lease in."""
        layers, project_id = self._all(), lease.request.project_id
        self._leases.append(lease)
        for level, points in layers.items():
            more = self._counted(level, lease.cards, lease.milli, project_id)
            if more:
                for point in points:
                    if point.at_s >= lease.ends_s:
                        break
                    point.add(project_id, more)

    def settle(self, request_id: int) -> Due | None:
        """Take away what a waiting request was due, because it is about to be served, or for a trial."""
        if request_id not in self._dues:
            return None
        layers, due = self._all(), self._dues.pop(request_id)
        self._add_due(layers, due, -1)
        return due

    def restore(self, due: Due) -> None:
        """Promise again what was taken away for a trial."""
        layers = self._all()
        self._dues[due.request.id] = due
        self._add_due(layers, due, 1)

    def owe(self, dues: Iterable[Due]) -> None:
        """Promise cards to waiting requests; what one was due before is forgotten."""
        new = {due.request.id: due for due in dues}
        for request_id in new:
            self.settle(request_id)
        if self._layers is None:
            self._dues |= new
            return
        known = {at_s for points in self._layers.values() for at_s in (point.at_s for point in points)}
        levels = list(self._layers)
        added = sorted({max(due.by_s, self._now_s) for due in new.values()} - known)
        instants = sorted(known | set(added))
        self._dues |= new
        more = [level for level in self._levels() if level not in self._layers]
        self._dues = {number: due for number, due in self._dues.items() if number not in new}
        grown = self._make(levels, added)
        for level in levels:
            self._layers[level] = sorted([*self._layers[level], *grown[level]], key=lambda point: point.at_s)
        self._layers |= self._make(more, instants)
        for due in new.values():
            self.restore(due)

    def dues(self) -> list[Due]:
        """Return what is promised to waiting requests."""
        return list(self._dues.values())

    def _all(self) -> dict[Level, list[Point]]:
        if self._layers is None:
            self._layers = self._make(self._levels(), self._instants())
        return self._layers

    def _add_due(self, layers: dict[Level, list[Point]], due: Due, sign: int) -> None:
        project_id, cards = due.request.project_id, self.suiting(due.request.shape)
        for level, points in layers.items():
            counts = project_id in level.projects if level.cards is None else bool(cards) and cards <= level.cards
            if counts:
                for point in points:
                    if due.by_s <= point.at_s:
                        point.add(project_id, sign * due.milli)

    def _make(self, levels: list[Level], instants: list[float]) -> dict[Level, list[Point]]:
        if not instants:
            return {level: [] for level in levels}
        floors = [self._floors(at_s) for at_s in instants]
        layers: dict[Level, list[Point]] = {}
        for level in levels:
            held = self._held(level, instants)
            layers[level] = points = []
            for at_s, floor, has in zip(instants, floors, held, strict=True):
                mine = {project_id: milli for project_id, milli in floor if project_id in level.projects}
                total = sum(max(milli, mine.get(project_id, 0)) for project_id, milli in has.items())
                total += sum(milli for project_id, milli in mine.items() if project_id not in has)
                points.append(Point(level, at_s, mine, has, total))
        for due in self._dues.values():
            self._add_due(layers, due, 1)
        return layers

    def _held(self, level: Level, instants: list[float]) -> list[dict[int, int]]:
        """Return what each project holds beyond each of some instants."""
        ending: list[dict[int, int]] = [{} for _ in range(len(instants) + 1)]
        for lease in self._leases:
            project_id = lease.request.project_id
            more = self._counted(level, lease.cards, lease.milli, project_id)
            if more:
                here = ending[bisect_left(instants, lease.ends_s)]
                here[project_id] = here.get(project_id, 0) + more
        running: dict[int, int] = ending[-1]
        found = []
        for here in reversed(ending[:-1]):
            found.append(running)
            running = (
                {key: running.get(key, 0) + here.get(key, 0) for key in {*running, *here}} if here else dict(running)
            )
        return found[::-1]

    def _instants(self) -> list[float]:
        """Return when a sum may grow: guarantees that are asked for now, or as soon as one grows, and dues."""
        settle_s = self._state.rules.settle_s
        found = {max(due.by_s, self._now_s) for due in self._dues.values()}
        before: dict[int, int] = {}
        for start_s, terms in self.calendar:
            for rule in terms.projects.values():
                if rule.guarantee > before.get(rule.project_id, 0):
                    found.add(start_s + rule.within_s - settle_s)
            before = {rule.project_id: rule.guarantee for rule in terms.projects.values()}
        return sorted(found)

    def _levels(self) -> list[Level]:
        sets = set(self._guaranteed.values()) | {self.suiting(due.request.shape) for due in self._dues.values()}
        ordered = sorted((each for each in sets if each), key=lambda each: (len(each), sorted(each)))
        return [self._level(cards) for cards in ordered] + self._limits()

    def _level(self, cards: frozenset[str]) -> Level:
        capacity = sum(self._cards[uuid].seat_milli * self._cards[uuid].tenants for uuid in cards)
        inside = (project_id for project_id, mine in self._guaranteed.items() if mine and mine <= cards)
        return Level(capacity, cards, frozenset(inside))

    def _limits(self) -> list[Level]:
        """Return the ceilings, and the limits of projects that something is promised to."""
        rules = self.terms.projects.values()
        limits = [
            (lab.ceiling, frozenset(rule.project_id for rule in rules if rule.lab_id == lab.lab_id))
            for lab in self.terms.labs.values()
        ]
        due = sorted({due.request.project_id for due in self._dues.values()})
        limits += [(self.terms.project(each).limit, frozenset({each})) for each in due]
        return [Level(most * CARD_MILLI, None, projects) for most, projects in limits if most is not None]

    def _floors(self, at_s: float) -> list[tuple[int, int]]:
        """Return what each project may ask for, at the latest, so as to be due by an instant."""
        settle_s, found = self._state.rules.settle_s, []
        for project_id in self._guaranteed:
            asks_s = at_s - self.terms.project(project_id).within_s + settle_s + ROUNDING_S
            if asks_s >= self._now_s:
                terms = self.calendar[max(0, bisect_right(self._starts, asks_s) - 1)][1]
                found.append((project_id, terms.project(project_id).guarantee * CARD_MILLI))
        return found

    def _find_guaranteed(self) -> dict[int, frozenset[str]]:
        """Return the cards of each guarantee, also of those that only begin later; not where no card is of its kind."""
        rules = {
            rule.project_id: rule for _, terms in self.calendar for rule in terms.projects.values() if rule.guarantee
        }
        found = {each: self.suiting(Shape(memory_bytes=rules[each].memory_bytes)) for each in sorted(rules)}
        return {project_id: cards for project_id, cards in found.items() if cards}

    def _counted(self, level: Level, uuids: Iterable[str], milli: int, project_id: int) -> int:
        if level.cards is None:
            return milli if project_id in level.projects else 0
        inside = [uuid for uuid in uuids if uuid in level.cards]
        return sum(self._cards[uuid].seat_milli for uuid in inside) if inside else 0


def _horizon_s(state: State) -> float:
    return max(state.rules.longest_s.values())


def _from(known: Calendar, now_s: float) -> Calendar:
    """Return the part of a calendar from an instant on."""
    first = max(0, bisect_right([at_s for at_s, _ in known], now_s) - 1)
    return [(now_s, known[first][1]), *known[first + 1 :]]
