"""When the first in the queue can have its cards at the latest, should every lease last to its end."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bancada_hub.gpus.scheduling.accounts import Holdings
from bancada_hub.gpus.scheduling.limits import reached
from bancada_hub.gpus.scheduling.placement import Board
from bancada_hub.gpus.scheduling.promises import ROUNDING_S, Promises
from bancada_hub.gpus.scheduling.rules import Terms
from bancada_hub.gpus.scheduling.times import spans
from bancada_hub.gpus.scheduling.values import Lease, Request, State


@dataclass(frozen=True)
class Shadow:
    """When, and how much of what everybody competes for.

    Args:
        at_s: The instant.
        milli: How much it takes of the cards that are not kept for its project.
    """

    at_s: float
    milli: int


def find_shadow(
    state: State, request: Request, leases: Sequence[Lease], promised: Promises, now_s: float
) -> Shadow | None:
    """Return when a request can be served at the latest; None when no lease's end makes room for it.

    Args:
        state: The state.
        request: The request.
        leases: All leases, also those just given.
        promised: What is promised to others that wait.
        now_s: The instant decided for.
    """
    settle_s = state.rules.settle_s
    others = [due for due in promised.dues() if due.request.id != request.id]
    instants = sorted({max(lease.ends_s, now_s) + settle_s for lease in leases})

    def at(instant_s: float, *, checked: bool) -> Shadow | None:
        left = {lease.id: lease for lease in leases if max(lease.ends_s, now_s) + settle_s > instant_s}
        cards = Board.of(state.cards, left.values()).place(request.shape, request.project_id)
        if cards is None:
            return None
        milli = sum(card.seat_milli for card in cards)
        if reached(request, milli, _holdings_beside(request, left.values(), promised.terms), state.rules):
            return None
        found = Shadow(instant_s, sum(card.seat_milli for card in cards if card.general))
        if not checked:
            return found
        promises = Promises(replace(state, leases=left), instant_s, others, promised.calendar)
        bound = promises.bound(request.project_id, cards, milli)
        return found if bound.ends_s - instant_s >= spans(request.shape, state.rules)[1] - ROUNDING_S else None

    first = _first(instants, lambda instant_s: at(instant_s, checked=False) is not None)
    if first is None:
        return None
    later = instants[instants.index(first) :]
    if (found := at(first, checked=True)) is not None:
        return found
    kept = _first(later, lambda instant_s: at(instant_s, checked=True) is not None)
    return None if kept is None else at(kept, checked=True)


def _holdings_beside(request: Request, leases: Iterable[Lease], terms: Terms) -> Holdings:
    """Return the holdings of those who are under one limit with a request."""
    lab = terms.lab_of(request.project_id).lab_id
    near = {lease.request.project_id for lease in leases if terms.lab_of(lease.request.project_id).lab_id == lab}
    mine = [each for each in leases if each.request.person_id == request.person_id or each.request.project_id in near]
    return Holdings.of(mine, terms)


def _first(instants: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    """Return the first instant at which something holds that goes on holding."""
    if not instants or not holds(instants[-1]):
        return None
    place = bisect_left(range(len(instants) - 1), True, key=lambda each: holds(instants[each]))
    return instants[place]
