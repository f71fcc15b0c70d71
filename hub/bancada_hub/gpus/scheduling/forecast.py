"""How long a wait may be: a range, from how long leases really lasted.

The queue is played through many times. In each play every lease lasts as long as some past lease of the same project
and purpose did that was not over by the same age, and cards go to those who wait in their order, limits included. The
numbers are drawn from a generator whose seed is part of the question: the same question has the same answer. What the
plays cannot know (who will ask later and come before) is learnt from how far past forecasts were off.
"""

import random
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bancada_hub.gpus.scheduling.placement import may_hold
from bancada_hub.gpus.scheduling.rules import Purpose, terms_at
from bancada_hub.gpus.scheduling.times import spans
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Lease, Request, State

PLAYS = 40
AHEAD_MOST = 300
KEPT = 200
ENOUGH = 20
"""So many past leases, or forecasts, are enough to go by; with fewer, those of all projects are taken, or none."""
LOW, HIGH = 0.1, 0.9
AT_LEAST_S = 60.0

Key = tuple[int, Purpose]


@dataclass(frozen=True)
class Range:
    """How long a wait may be.

    Args:
        low_s: One in ten is shorter.
        middle_s: As likely longer as shorter.
        high_s: One in ten is longer.
    """

    low_s: float
    middle_s: float
    high_s: float


@dataclass(frozen=True)
class Outcome:
    """A forecast, before it was set right, and what came of it."""

    said: Range
    waited_s: float


@dataclass(frozen=True)
class History:
    """What is known of the past, newest last.

    Args:
        lengths: How long leases lasted, by project and purpose.
        outcomes: What came of forecasts.
    """

    lengths: Mapping[Key, tuple[float, ...]] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = ()

    def with_length(self, lease: Lease, ended_s: float) -> "History":
        """Return the history with a lease that has ended."""
        key = (lease.request.project_id, lease.request.shape.purpose)
        length_s = max(0.0, ended_s - lease.granted_s)
        return replace(self, lengths={**self.lengths, key: (*self.lengths.get(key, ()), length_s)[-KEPT:]})

    def with_outcome(self, outcome: Outcome) -> "History":
        """Return the history with what came of a forecast."""
        return replace(self, outcomes=(*self.outcomes, outcome)[-KEPT:])


class Lengths:
    """How long leases last, drawn from the past.

    Args:
        history: The past.
    """

    def __init__(self, history: History) -> None:
        self._sorted: dict[Key, list[float]] = {}
        for (project_id, purpose), lengths in history.lengths.items():
            if len(lengths) >= ENOUGH:
                self._sorted[project_id, purpose] = sorted(lengths)
            self._sorted.setdefault((0, purpose), []).extend(lengths)
        for purpose in Purpose:
            self._sorted.get((0, purpose), []).sort()

    def draw(self, request: Request, held_s: float, most_s: float, rng: random.Random) -> float:
        """Return how much longer a lease may last that has lasted for some time.

        Args:
            request: What it is for.
            held_s: How long it has lasted.
            most_s: How much longer it may last at most.
            rng: Where numbers come from.
        """
        past = self._sorted.get((request.project_id, request.shape.purpose))
        past = past or self._sorted.get((0, request.shape.purpose), [])
        first = bisect_right(past, held_s)
        if first == len(past):
            return max(0.0, most_s)
        return max(0.0, min(past[rng.randrange(first, len(past))] - held_s, most_s))


class Play:
    """One way in which it may go on.

    Args:
        state: The state.
        now_s: The instant.
        lengths: How long leases last.
        rng: Where numbers come from.
    """

    def __init__(self, state: State, now_s: float, lengths: Lengths, rng: random.Random) -> None:
        self._state, self._now_s, self._lengths, self._rng = state, now_s, lengths, rng
        self._terms = terms_at(state.rules, now_s)
        self._seats = {card.uuid: [now_s] * card.tenants for card in state.cards if card.usable}
        self._limited: dict[tuple[str, int], list[tuple[float, int]]] = {}
        for _, lease in sorted(state.leases.items()):
            held_s = max(0.0, now_s - lease.granted_s)
            ends_s = now_s + lengths.draw(lease.request, held_s, lease.ends_s - now_s, rng) + state.rules.settle_s
            for uuid in lease.cards:
                if seats := self._seats.get(uuid):
                    seats[seats.index(min(seats))] = ends_s
            self._occupy(lease.request, lease.milli, ends_s)

    def serve(self, request: Request, suiting: Sequence[str]) -> float | None:
        """Let a request have its cards, and return when; None when there are too few."""
        count = request.shape.cards
        chosen = sorted(suiting, key=lambda uuid: min(self._seats[uuid]))[:count]
        if len(chosen) < count:
            return None
        start_s = max(min(self._seats[uuid]) for uuid in chosen)
        for most, key in self._limits(request):
            start_s = max(start_s, self._room(key, most, count * CARD_MILLI))
        wanted_s = spans(request.shape, self._state.rules)[0]
        ends_s = start_s + self._lengths.draw(request, 0.0, wanted_s, self._rng) + self._state.rules.settle_s
        for uuid in chosen:
            seats = self._seats[uuid]
            seats[seats.index(min(seats))] = ends_s
        self._occupy(request, count * CARD_MILLI, ends_s)
        return start_s

    def allows(self, request: Request) -> bool:
        """Return whether no limit is below what a request asks for: then it never comes to its turn."""
        return all(request.shape.cards <= most for most, _ in self._limits(request))

    def _limits(self, request: Request) -> list[tuple[int, tuple[str, int]]]:
        rule, lab = self._terms.project(request.project_id), self._terms.lab_of(request.project_id)
        limits = (
            (self._state.rules.person_limit, ("person", request.person_id)),
            (rule.person_limit, (f"person in {request.project_id}", request.person_id)),
            (rule.limit, ("project", request.project_id)),
            (lab.ceiling, ("lab", lab.lab_id)),
        )
        return [(most, key) for most, key in limits if most is not None]

    def _occupy(self, request: Request, milli: int, ends_s: float) -> None:
        for _, key in self._limits(request):
            insort(self._limited.setdefault(key, []), (ends_s, milli))

    def _room(self, key: tuple[str, int], most: int, milli: int) -> float:
        """Return from when on so much more is within a limit."""
        held = sum(each for _, each in self._limited.get(key, ()))
        for ends_s, each in self._limited.get(key, ()):
            if held + milli <= most * CARD_MILLI:
                break
            held -= each
            if held + milli <= most * CARD_MILLI:
                return ends_s
        return self._now_s


def forecast(state: State, ahead: Sequence[Request], request: Request, history: History, now_s: float) -> Range | None:
    """Return how long a request may wait, as played; None when no card or limit lets it in.

    Args:
        state: The state.
        ahead: Who comes before it.
        request: The request.
        history: The past.
        now_s: The instant.
    """
    played = [*ahead[:AHEAD_MOST], request]
    stretch = (len(ahead) + 1) / len(played)
    suiting = _suiting(state, played)
    if len(suiting[request.id]) < request.shape.cards:
        return None
    lengths, waits = Lengths(history), []
    if not Play(state, now_s, lengths, random.Random(0)).allows(request):  # noqa: S311 - no secret
        return None
    for number in range(PLAYS):
        play = Play(state, now_s, lengths, random.Random(f"{request.id} {now_s} {number}"))  # noqa: S311 - no secret
        starts = [play.serve(each, suiting[each.id]) for each in played]
        waits.append(((starts[-1] or now_s) - now_s) * stretch)
    return Range(_quantile(waits, LOW), _quantile(waits, 0.5), _quantile(waits, HIGH))


def set_right(said: Range, outcomes: Sequence[Outcome]) -> Range:
    """Return a forecast, set right by how far past ones were off; with too few of those, as it is."""
    if len(outcomes) < ENOUGH:
        return said

    def off(bound: Callable[[Range], float], part: float) -> float:
        ratios = [(each.waited_s + AT_LEAST_S) / (bound(each.said) + AT_LEAST_S) for each in outcomes]
        return max(0.0, (bound(said) + AT_LEAST_S) * _quantile(ratios, part) - AT_LEAST_S)

    low_s, middle_s = off(lambda each: each.low_s, LOW), off(lambda each: each.middle_s, 0.5)
    high_s = off(lambda each: each.high_s, HIGH)
    return Range(min(low_s, middle_s), middle_s, max(middle_s, high_s))


def _suiting(state: State, requests: Iterable[Request]) -> dict[int, list[str]]:
    known: dict[object, list[str]] = {}
    found = {}
    for request in requests:
        key = (request.shape.need, request.project_id)
        if key not in known:
            cards = [card for card in state.cards if may_hold(card, request.project_id)]
            known[key] = sorted(card.uuid for card in cards if request.shape.suits(card))
        found[request.id] = known[key]
    return found


def _quantile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
