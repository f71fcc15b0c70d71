"""The decision: what is to be done at an instant, and nothing else; the same state gives the same decision."""

from dataclasses import dataclass, replace

from bancada_hub.errors import Told
from bancada_hub.gpus.scheduling import reasons
from bancada_hub.gpus.scheduling.accounts import Holdings, advance
from bancada_hub.gpus.scheduling.limits import Limit, Reached, most_milli, reached
from bancada_hub.gpus.scheduling.order import Order
from bancada_hub.gpus.scheduling.placement import Board
from bancada_hub.gpus.scheduling.promises import ROUNDING_S, Bound, Due, Promises
from bancada_hub.gpus.scheduling.shadow import find_shadow
from bancada_hub.gpus.scheduling.times import spans, times_of
from bancada_hub.gpus.scheduling.values import (
    CARD_MILLI,
    Card,
    Decisions,
    Drop,
    Grant,
    Head,
    Lease,
    Request,
    State,
)
from bancada_hub.gpus.scheduling.waiting import seniority

AVOIDED_MOST = 3
"""How often other cards are tried when those preferred could be given for a shorter time only."""

SHADOWS_MOST = 3
"""How many requests may be promised their cards by an instant, beside guarantees: the first that waits for cards, and
the first that waits at each of some limits."""


@dataclass(frozen=True)
class NoCards:
    """Too few suiting cards are free."""


@dataclass(frozen=True)
class Promised:
    """Cards are free, and others need them too soon.

    Args:
        bound: The promise that stands against it, for the cards that could be given longest.
    """

    bound: Bound


Block = Reached | NoCards | Promised


def schedule(state: State, now_s: float) -> Decisions:
    """Return what is to be done.

    Args:
        state: The state, as the rows have it.
        now_s: The instant.
    """
    return Pass(state, now_s).decide()


class Pass:
    """One decision under way.

    Args:
        state: The state.
        now_s: The instant.
    """

    def __init__(self, state: State, now_s: float) -> None:
        self.before, self.now_s = state, now_s
        self.use = advance(state, now_s)
        times = times_of(state, now_s)
        drops = [Drop(each, reasons.barred()) for each in _barred(state)]
        waiting = state.waiting.without(drop.request_id for drop in drops)
        self.state = replace(state, leases=times.leases, waiting=waiting)
        self.promises = Promises(self.state, now_s)
        self.held = Holdings.of(times.leases.values(), self.promises.terms)
        self.board = Board.of(state.cards, times.leases.values())
        self.order = Order(self.state, now_s, self.use, self.held)
        self._heads: dict[object, Head] = {}
        self.decided = Decisions(now_s, tuple(drops), times.passed, times.ends, times.moves, use=self.use)
        self._grants: list[Grant] = []
        self._shadows_left = SHADOWS_MOST
        self._kept = {project_id for card in state.cards for project_id in card.reserved_for}
        self._milli: dict[tuple[object, ...], int] = {}
        self._no_cards: set[tuple[object, ...]] = set()
        self._bounds: dict[tuple[object, ...], tuple[tuple[Card, ...], Bound]] = {}

    def decide(self) -> Decisions:
        """Serve all who can be served."""
        self._serve_guarantees()
        while (request := self.order.next()) is not None:
            if self._heads and not self.board.free:
                break
            block = self.try_to_serve(request, self._why_next(request))
            if isinstance(block, Reached):
                self.order.close(self._behind(request, block))
            elif block is not None:
                everywhere = isinstance(block, NoCards) and self._kept_for(request.project_id) is None
                self.order.close_shape(request.shape, None if everywhere else request.project_id)
            self.order.again((request.project_id, request.person_id))
        return replace(self.decided, grants=tuple(self._grants), heads=tuple(self._heads.values()))

    def _behind(self, request: Request, block: Reached) -> object:
        """Return who has to wait behind a request that is at a limit.

        Behind one that was promised its cards, others may be let in. Where nothing can be promised, nobody is let in
        under the same limit: many small requests would keep a large one waiting for ever. One that is too large for
        the limit itself keeps nobody.
        """
        pair = (request.project_id, request.person_id)
        if self._group(request, block) in self._heads or self.milli(request) > block.most * CARD_MILLI:
            return (pair, request.shape)
        match block.limit:
            case Limit.PROJECT:
                return request.project_id
            case Limit.LAB:
                return self.promises.terms.lab_of(request.project_id)
        return pair

    def _group(self, request: Request, block: Block) -> object:
        """Return what a request waits for together with others: cards, or room under a limit."""
        if not isinstance(block, Reached):
            return "cards"
        match block.limit:
            case Limit.PROJECT:
                return request.project_id
            case Limit.LAB:
                return self.promises.terms.lab_of(request.project_id)
        return None

    def try_to_serve(self, request: Request, reason: Told) -> Block | None:
        """Grant a request if that harms nobody before it; else say what stands against it.

        Args:
            request: The request.
            reason: Why it is its turn.
        """
        due = self.promises.settle(request.id)
        outcome = self.find(request, due)
        if isinstance(outcome, Lease):
            self._grant(outcome, reasons.filled() if outcome.backfill and due is None else reason)
            return None
        if due is not None:
            self.promises.restore(due)
        group = self._group(request, outcome)
        if group is not None and group not in self._heads and self._shadows_left:
            self._make_head(request, group)
        return outcome

    def find(self, request: Request, due: Due | None = None) -> Lease | Block:
        """Return the lease that a request could have now, or what stands against it.

        Args:
            request: The request.
            due: What it was promised, which was taken away for this.
        """
        shape, state = request.shape, self.state
        limit = reached(request, self.milli(request), self.held, state.rules)
        if limit is not None:
            return limit
        key = (shape.need, shape.cards, self._kept_for(request.project_id))
        if key in self._no_cards:
            return NoCards()
        wanted_s, least_s = spans(shape, state.rules)
        bound_key = (*key, request.project_id, wanted_s)
        found = (None if due else self._bounds.get(bound_key)) or self._best(request, wanted_s)
        if found is None:
            self._no_cards.add(key)
            return NoCards()
        if due is None:
            self._bounds[bound_key] = found
        cards, bound = found
        ends_s = min(self.now_s + wanted_s, bound.ends_s)
        if ends_s - self.now_s < least_s - ROUNDING_S:
            return Promised(bound)
        milli = sum(card.seat_milli for card in cards)
        uuids = tuple(card.uuid for card in cards)
        claim_by_s = self.now_s + state.rules.claim_s
        return Lease(request, uuids, milli, self.now_s, ends_s, claim_by_s, backfill=bool(self._heads))

    def _best(self, request: Request, wanted_s: float) -> tuple[tuple[Card, ...], Bound] | None:
        """Return the free cards that suit and can be had longest, those preferred among equals."""
        best: tuple[tuple[Card, ...], Bound] | None = None
        avoid: frozenset[str] = frozenset()
        for _ in range(AVOIDED_MOST):
            cards = self.board.place(request.shape, request.project_id, avoid)
            if cards is None:
                break
            bound = self.promises.bound(request.project_id, cards, sum(card.seat_milli for card in cards))
            if best is None or bound.ends_s > best[1].ends_s:
                best = (cards, bound)
            if bound.ends_s >= self.now_s + wanted_s or bound.point is None or bound.point.level.cards is None:
                break
            avoid |= bound.point.level.cards
        return best

    def milli(self, request: Request) -> int:
        """Return how much a request counts at most."""
        key = (request.shape.need, request.shape.cards, self._kept_for(request.project_id))
        if key not in self._milli:
            self._milli[key] = most_milli(request.shape, self.board.suiting(request.shape, request.project_id))
        return self._milli[key]

    def _kept_for(self, project_id: int) -> int | None:
        """Return the project if some card is kept for it: what suits others is then not all that suits it."""
        return project_id if project_id in self._kept else None

    def _grant(self, lease: Lease, reason: Told) -> None:
        request = lease.request
        self.board.take(lease.cards)
        self.held.add(request.project_id, request.person_id, lease.milli)
        self.promises.hold(lease)
        self.order.serve(request)
        self._grants.append(Grant(lease, reason))
        self._bounds.clear()

    def _make_head(self, request: Request, group: object) -> None:
        """Promise the first that has to wait its cards by when it can have them; what others get must end before."""
        self._shadows_left -= 1
        given = [*self.state.leases.values(), *(grant.lease for grant in self._grants)]
        shadow = find_shadow(self.state, request, given, self.promises, self.now_s)
        if shadow is None:
            return
        self._heads[group] = Head(request.id, shadow.at_s)
        self.promises.owe([Due(request, shadow.milli, shadow.at_s - self.state.rules.settle_s)])
        self._bounds.clear()

    def _why_next(self, request: Request) -> Told:
        if self.order.is_aged((request.project_id, request.person_id), request):
            return reasons.aged(self.state.rules.patience_s)
        return reasons.fair()

    def _serve_guarantees(self) -> None:
        dues = [
            due
            for rule in self.promises.terms.projects.values()
            if rule.guarantee
            for due in self._dues(rule.project_id)
        ]
        if not dues:
            return
        self.promises.owe(dues)
        for due in sorted(dues, key=lambda each: (each.by_s, each.request.id)):
            count = self.promises.terms.project(due.request.project_id).guarantee
            self.try_to_serve(due.request, reasons.guaranteed(count))

    def _dues(self, project_id: int) -> list[Due]:
        """Return the requests of a project that its guarantee covers now.

        They are due as if those were served that have waited longest: the promise is the project's.
        """
        rules, rule, promises = self.state.rules, self.promises.terms.project(project_id), self.promises
        mine = promises.guaranteed(project_id)
        leases = [lease for lease in self.state.leases.values() if lease.request.project_id == project_id]
        left = rule.guarantee - sum(uuid in mine for lease in leases for uuid in lease.cards)
        if left <= 0:
            return []
        held = Holdings.of(leases, replace(promises.terms, labs={}))  # what the lab lent beyond its ceiling comes back
        held.people.update(self.held.people)
        found: list[Request] = []
        asked: list[float] = []
        for request in self._covered(project_id):
            milli = request.shape.cards * CARD_MILLI
            lasting = promises.lasting(project_id, spans(request.shape, rules)[1])
            if request.shape.cards > lasting or reached(request, milli, held, rules):
                continue
            asked.append(min(request.asked_s, self.now_s))
            if request.shape.cards <= left - (rule.guarantee - lasting):
                left -= request.shape.cards
                held.add(project_id, request.person_id, milli)
                found.append(request)
        wait_s = rule.within_s - rules.settle_s
        oldest = zip(found, sorted(asked), strict=False)
        return [Due(request, request.shape.cards * CARD_MILLI, at_s + wait_s) for request, at_s in oldest]

    def _covered(self, project_id: int) -> list[Request]:
        """Return the requests that a guarantee may cover: everybody's first card before anybody's second, by age."""
        most = self.promises.terms.project(project_id).guarantee
        ranked: list[tuple[int, tuple[float, int], Request]] = []
        for pair in self.state.waiting.pairs:
            if pair[0] == project_id:
                lines = self.state.waiting.pairs[pair].values()
                mine = [
                    each for line in lines if self.promises.covers(project_id, line[0].shape) for each in line[:most]
                ]
                has = self.held.pairs.get(pair, 0) // CARD_MILLI
                ranked += [(has + n, seniority(each), each) for n, each in enumerate(sorted(mine, key=seniority))]
        return [each for _, _, each in sorted(ranked, key=lambda rank: rank[:2])]


def _barred(state: State) -> list[int]:
    pairs = sorted(pair for pair in state.barred if pair in state.waiting.pairs)
    return sorted(request.id for pair in pairs for line in state.waiting.pairs[pair].values() for request in line)
