"""What to tell somebody who waits: their place, who is ahead as far as they may know, why, and what would change it."""

from dataclasses import dataclass, replace
from functools import cached_property

from bancada_hub.errors import Told
from bancada_hub.gpus.scheduling import reasons
from bancada_hub.gpus.scheduling.accounts import Holdings
from bancada_hub.gpus.scheduling.forecast import History, Range, forecast, set_right
from bancada_hub.gpus.scheduling.limits import Reached, reached
from bancada_hub.gpus.scheduling.order import Order, in_order
from bancada_hub.gpus.scheduling.schedule import NoCards, Pass, Promised
from bancada_hub.gpus.scheduling.times import spans
from bancada_hub.gpus.scheduling.values import Decisions, Request, State


@dataclass(frozen=True)
class Reader:
    """Who is told.

    Args:
        person_id: The person.
        projects: The projects whose members they may know.
        everything: Whether they may know of all.
    """

    person_id: int
    projects: frozenset[int] = frozenset()
    everything: bool = False

    def knows(self, request: Request) -> bool:
        """Return whether they may know whose request it is."""
        return self.everything or request.person_id == self.person_id or request.project_id in self.projects


@dataclass(frozen=True)
class Why:
    """Why a request waits.

    Args:
        place: Its place; 1 is next.
        ahead: Those before it whose owners the reader may know.
        others: How many more are before it.
        reason: What stands against it now.
        change: What would change that.
        wait: How long it may wait; None where no card in service will do.
        raw: The same before it was set right by past forecasts.
    """

    place: int
    ahead: tuple[Request, ...]
    others: int
    reason: Told
    change: Told
    wait: Range | None = None
    raw: Range | None = None


class Explainer:
    """Explains one state at one instant; the decision is made once for all questions.

    Args:
        state: The state.
        now_s: The instant.
        history: The past, for how long waits may be.
    """

    def __init__(self, state: State, now_s: float, history: History | None = None) -> None:
        self._pass = Pass(state, now_s)
        self.decisions: Decisions = self._pass.decide()
        granted = [grant.lease.id for grant in self.decisions.grants]
        leases = {**self._pass.state.leases, **{grant.lease.id: grant.lease for grant in self.decisions.grants}}
        self.state = replace(self._pass.state, leases=leases, waiting=self._pass.state.waiting.without(granted))
        self._now_s, self._history = now_s, history or History()

    @cached_property
    def order(self) -> tuple[Request, ...]:
        """All who still wait, in the order in which they are served as cards come free."""
        held = Holdings.of(self.state.leases.values(), self._pass.promises.terms)
        return tuple(in_order(Order(self.state, self._now_s, self._pass.use, held), held))

    def ahead_of(self, request_id: int) -> tuple[Request, ...]:
        """Return who is served before a request; who waits at a limit of their own is not in its way."""
        held, rules = self._pass.held, self.state.rules
        place = next(n for n, each in enumerate(self.order) if each.id == request_id)
        asks = self.order[:place]
        return tuple(each for each in asks if reached(each, self._pass.milli(each), held, rules) is None)

    def why(self, request_id: int, reader: Reader) -> Why:
        """Return why a request waits that still does after the decision.

        Args:
            request_id: The request.
            reader: Who is told.
        """
        request = self.state.waiting.by_id[request_id]
        ahead = self.ahead_of(request_id)
        known = tuple(each for each in ahead if reader.knows(each))
        reason, change = self._stands_against(request, len(ahead))
        raw = forecast(self.state, ahead, request, self._history, self._now_s)
        wait = None if raw is None else set_right(raw, self._history.outcomes)
        return Why(len(ahead) + 1, known, len(ahead) - len(known), reason, change, wait, raw)

    def _stands_against(self, request: Request, ahead: int) -> tuple[Told, Told]:
        suiting = self._pass.board.suiting(request.shape, request.project_id)
        if len(suiting) < request.shape.cards:
            return reasons.nothing_suits(request.shape), reasons.nothing_suits_change()
        block = self._pass.find(request)
        match block:
            case Reached():
                return reasons.limit_reached(block), reasons.limit_change(block)
            case NoCards():
                free = sum(card.uuid in self._pass.board.free for card in suiting)
                zone = self.state.rules.zone
                return reasons.taken(request.shape, free), reasons.taken_change(self._enough_by(request), zone)
            case Promised():
                lendable_s = block.bound.ends_s - self._now_s
                least_s = spans(request.shape, self.state.rules)[1]
                return reasons.kept(lendable_s, least_s), reasons.kept_change(lendable_s)
        return reasons.behind(ahead), reasons.behind_change()

    def _enough_by(self, request: Request) -> float | None:
        """Return by when enough suiting cards are free at the latest, should nobody else take them."""
        suiting = self._pass.board.suiting(request.shape, request.project_id)
        free = sum(card.uuid in self._pass.board.free for card in suiting)
        uuids = {card.uuid for card in suiting}
        ends = sorted(lease.ends_s for lease in self.state.leases.values() for each in lease.cards if each in uuids)
        missing = request.shape.cards - free
        return ends[missing - 1] if 0 < missing <= len(ends) else None
