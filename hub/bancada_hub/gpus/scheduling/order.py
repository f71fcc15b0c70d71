"""Who is next: those not served for long, then the least use against weight, lab by lab, project by project."""

import heapq
from bisect import bisect_right
from collections.abc import Iterator

from bancada_hub.gpus.scheduling.accounts import Holdings
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Pair, Request, Shape, State, Use
from bancada_hub.gpus.scheduling.waiting import seniority

Key = tuple[float, ...]


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
        self._passed: dict[tuple[Pair, object], int] = {}
        self._closed: set[object] = set()
        self._touched: set[Pair] = set()
        self._kept = {project_id for card in state.cards for project_id in card.reserved_for}
        self._open: dict[int, set[object]] = {
            project_id: set(shapes) for project_id, shapes in state.waiting.shapes.items()
        }
        self._aged: list[tuple[Key, Pair]] = []
        self._people: dict[int, list[tuple[Key, Pair]]] = {}
        self._unsorted: dict[int, list[Pair]] = {}
        self._projects: list[tuple[Key, int]] = []
        self._fill()

    def _fill(self) -> None:
        """Sort the aged, and the projects; the people of a project are sorted when it is its turn."""
        oldest: dict[int, tuple[float, int]] = {}
        patience_s, served = self._state.rules.patience_s, self._state.served
        before_s = self._now_s - patience_s
        for pair, first in self._state.waiting.oldest.items():
            age = (first.asked_s, first.id)
            if first.asked_s < before_s and served.get(pair, 0.0) < before_s:
                self._aged.append(((self.since(pair, first), *age), pair))
            project_id = pair[0]
            self._unsorted.setdefault(project_id, []).append(pair)
            if project_id not in oldest or age < oldest[project_id]:
                oldest[project_id] = age
        self._oldest = oldest
        self._projects = [(self._share(project_id), project_id) for project_id in oldest]
        heapq.heapify(self._aged)
        heapq.heapify(self._projects)

    def next(self) -> Request | None:
        """Return whose turn it is, and take their pair out until `again`; None when nobody is left."""
        while self._aged:
            _, pair = heapq.heappop(self._aged)
            first = self.first(pair)
            if first is not None and self.is_aged(pair, first):
                return first
        while self._projects:
            key, project_id = self._projects[0]
            fresh = self._share(project_id)
            if fresh > key:
                heapq.heapreplace(self._projects, (fresh, project_id))
                continue
            first = self._next_of(project_id) if self._open.get(project_id) else None
            if first is not None:
                return first
            heapq.heappop(self._projects)
        return None

    def _next_of(self, project_id: int) -> Request | None:
        """Return whose turn it is in a project."""
        if pairs := self._unsorted.pop(project_id, None):
            people = [(self._turn(pair, first), pair) for pair in pairs if (first := self.first(pair))]
            heapq.heapify(people)
            self._people[project_id] = people
        people = self._people.get(project_id, [])
        while people:
            key, pair = heapq.heappop(people)
            first = self.first(pair)
            if first is None:
                continue
            fresh = self._turn(pair, first)
            if fresh > key and people and fresh > people[0][0]:
                heapq.heappush(people, (fresh, pair))
                continue
            return first
        return None

    def again(self, pair: Pair) -> None:
        """Let a pair have another turn."""
        first = self.first(pair)
        if first is None:
            return
        if self.is_aged(pair, first):
            heapq.heappush(self._aged, ((self.since(pair, first), *seniority(first)), pair))
        elif pair[0] not in self._unsorted:
            heapq.heappush(self._people[pair[0]], (self._turn(pair, first), pair))
            if not any(project_id == pair[0] for _, project_id in self._projects):
                heapq.heappush(self._projects, (self._share(pair[0]), pair[0]))

    def first(self, pair: Pair) -> Request | None:
        """Return the oldest request of a pair that was not passed and is not closed."""
        if self._closed and self._is_closed(pair):
            return None
        oldest, opened = self._state.waiting.oldest.get(pair), self._open.get(pair[0], set())
        if oldest is None or not opened or (pair not in self._touched and oldest.shape in opened):
            return oldest if opened else None
        best: Request | None = None
        for shape, line in self._state.waiting.pairs[pair].items():
            if shape not in opened:
                continue
            place = self._passed.get((pair, shape), 0) if pair in self._touched else 0
            if place < len(line) and (pair, shape) not in self._closed:
                request = line[place]
                if best is None or seniority(request) < seniority(best):
                    best = request
        return best

    def serve(self, request: Request) -> None:
        """Go on behind a request that was granted.

        If it was its person's oldest in the project, their turn begins to count anew; if others of theirs are older,
        they have not been served yet: many small requests do not make a large one young again.
        """
        pair = (request.project_id, request.person_id)
        if all(seniority(request) <= seniority(each) for each in self._left(pair)):
            self._served.add(pair)
        self._touched.add(pair)
        line = self._state.waiting.pairs[pair][request.shape]
        self._passed[pair, request.shape] = bisect_right(line, seniority(request), key=seniority)

    def _left(self, pair: Pair) -> list[Request]:
        """Return the first of each line of a pair that was not passed, closed or not."""
        lines = self._state.waiting.pairs[pair].items()
        places = [(line, self._passed.get((pair, shape), 0)) for shape, line in lines]
        return [line[place] for line, place in places if place < len(line)]

    def close(self, what: object) -> None:
        """Leave out a line (pair and shape), a pair, a project (its number) or a lab (its rule) from now on."""
        self._closed.add(what)
        if isinstance(what, tuple) and isinstance(what[1], Shape):
            self._touched.add(what[0])

    def close_shape(self, shape: Shape, project_id: int | None) -> None:
        """Leave out all requests of a shape from now on, in one project or in all that no card is kept for."""
        for each in [project_id] if project_id is not None else [*self._open]:
            if project_id is not None or each not in self._kept:
                self._open[each].discard(shape)

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

    def _share(self, project_id: int) -> Key:
        """Return what orders projects: the lab's use against its weight, the project's, then its oldest request."""
        rules, terms = self._state.rules, self._terms
        rule, lab = terms.project(project_id), terms.lab_of(project_id)
        lab_use = self._use.labs.get(lab.lab_id, 0.0) + self._held.lab_beyond.get(lab.lab_id, 0) * rules.ahead_s
        use = self._use.projects.get(project_id, 0.0) + self._held.beyond(project_id) * rules.ahead_s
        return (lab_use / lab.weight, use / rule.weight, *self._oldest[project_id])

    def _turn(self, pair: Pair, first: Request) -> Key:
        """Return what orders the people of a project: their use in it, then their oldest request."""
        return (self.person_share(pair), *seniority(first))


def in_order(order: Order, held: Holdings) -> Iterator[Request]:
    """Yield all who wait in the order in which they would be served if cards came free one after another.

    Args:
        order: A new order.
        held: What it counts with; what is yielded is added to it.
    """
    while (request := order.next()) is not None:
        yield request
        order.serve(request)
        held.add(request.project_id, request.person_id, request.shape.cards * CARD_MILLI)
        order.again((request.project_id, request.person_id))
