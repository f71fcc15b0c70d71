"""Who is next: those not served for long, then the least use against weight, lab by lab, project by project."""

import heapq
from bisect import bisect_right
from collections.abc import Iterator

from bancada_hub.gpus.scheduling.accounts import Holdings
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Pair, Request, Shape, State, Use
from bancada_hub.gpus.scheduling.waiting import seniority

Key = tuple[float, ...]
AGED, FAIR = 0.0, 1.0


class Order:
    """The people who wait, each in their projects, in the order of their turns.

    A turn's key only grows while a decision is made, because grants only add to what is held: so the first of the heap
    is the next as soon as its key, worked out anew, is still no more than that of the one behind it.

    Args:
        state: The state.
        now_s: The instant decided for.
        use: Everybody's use, counted to then.
        held: What everybody holds; the caller adds its grants.
    """

    def __init__(self, state: State, now_s: float, use: Use, held: Holdings) -> None:
        self._state, self._now_s = state, now_s
        self._terms, self._use, self._held = held.terms, use, held
        self._served: set[Pair] = set()
        self._passed: dict[tuple[Pair, Shape], int] = {}
        self._closed: set[object] = set()
        self._heap = [(self._key(pair, first), pair) for pair in state.waiting.pairs if (first := self.first(pair))]
        heapq.heapify(self._heap)

    def next(self) -> Request | None:
        """Return whose turn it is, and take their pair out until `again`; None when nobody is left."""
        while self._heap:
            key, pair = heapq.heappop(self._heap)
            first = self.first(pair)
            if first is None:
                continue
            fresh = self._key(pair, first)
            if fresh > key and self._heap and fresh > self._heap[0][0]:
                heapq.heappush(self._heap, (fresh, pair))
                continue
            return first
        return None

    def again(self, pair: Pair) -> None:
        """Let a pair have another turn."""
        first = self.first(pair)
        if first is not None:
            heapq.heappush(self._heap, (self._key(pair, first), pair))

    def first(self, pair: Pair) -> Request | None:
        """Return the oldest request of a pair that was not passed and is not closed."""
        best: Request | None = None
        if self._closed and self._is_closed(pair):
            return None
        for line in self._state.waiting.pairs.get(pair, {}).values():
            place = self._passed.get((pair, line[0].shape), 0)
            if place < len(line) and (pair, line[0].shape) not in self._closed:
                request = line[place]
                if best is None or seniority(request) < seniority(best):
                    best = request
        return best

    def serve(self, request: Request, *, in_turn: bool) -> None:
        """Go on behind a request that was granted.

        Args:
            request: The request; the oldest of its line that was not passed yet.
            in_turn: Whether it was its person's turn, which then begins to count anew.
        """
        pair = (request.project_id, request.person_id)
        line = self._state.waiting.pairs[pair][request.shape]
        self._passed[pair, request.shape] = bisect_right(line, seniority(request), key=seniority)
        if in_turn:
            self._served.add(pair)

    def close(self, what: object) -> None:
        """Leave out a line (pair and shape), a pair, a project (its number) or a lab (its rule) from now on."""
        self._closed.add(what)

    def _is_closed(self, pair: Pair) -> bool:
        return not self._closed.isdisjoint((pair, pair[0], self._terms.lab_of(pair[0])))

    def is_aged(self, pair: Pair, first: Request) -> bool:
        """Return whether a person has not been served in a project for so long that they come next."""
        return pair not in self._served and self._now_s - self.since(pair, first) > self._state.rules.patience_s

    def since(self, pair: Pair, first: Request) -> float:
        """Return since when a person has waited for their turn in a project."""
        return min(self._now_s, max(first.asked_s, self._state.served.get(pair, first.asked_s)))

    def person_share(self, pair: Pair) -> float:
        """Return how much a person has used, and holds, in a project."""
        return self._use.people.get(pair, 0.0) + self._held.pairs.get(pair, 0) * self._state.rules.ahead_s

    def _key(self, pair: Pair, first: Request) -> Key:
        if self.is_aged(pair, first):
            return (AGED, self.since(pair, first), *seniority(first))
        project_id, rules, terms = pair[0], self._state.rules, self._terms
        rule, lab = terms.project(project_id), terms.lab_of(project_id)
        lab_use = self._use.labs.get(lab.lab_id, 0.0) + self._held.lab_beyond.get(lab.lab_id, 0) * rules.ahead_s
        use = self._use.projects.get(project_id, 0.0) + self._held.beyond(project_id) * rules.ahead_s
        person = self.person_share(pair)
        return (FAIR, lab_use / lab.weight, use / rule.weight, person, *seniority(first))


def in_order(order: Order, held: Holdings) -> Iterator[Request]:
    """Yield all who wait in the order in which they would be served if cards came free one after another.

    Args:
        order: A new order.
        held: What it counts with; what is yielded is added to it.
    """
    while (request := order.next()) is not None:
        yield request
        order.serve(request, in_turn=True)
        held.add(request.project_id, request.person_id, request.shape.cards * CARD_MILLI)
        order.again((request.project_id, request.person_id))
