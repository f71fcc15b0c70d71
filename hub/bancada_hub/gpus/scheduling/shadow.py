"""When the first in the queue can have its cards at the latest, should every lease last to its end."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bancada_hub.gpus.scheduling.accounts import Holdings
from bancada_hub.gpus.scheduling.limits import reached
from bancada_hub.gpus.scheduling.placement import Board
from bancada_hub.gpus.scheduling.promises import Due, Promises
from bancada_hub.gpus.scheduling.rules import terms_at
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
    state: State, request: Request, leases: Sequence[Lease], dues: Sequence[Due], now_s: float
) -> Shadow | None:
    """Return when a request can be served at the latest; None when no lease's end makes room for it.

    Args:
        state: The state.
        request: The request.
        leases: All leases, also those just given.
        dues: What is promised to others that wait.
        now_s: The instant decided for.
    """
    settle_s = state.rules.settle_s
    others = [due for due in dues if due.request.id != request.id]
    instants = sorted({max(lease.ends_s, now_s) + settle_s for lease in leases})

    def at(instant_s: float, *, checked: bool) -> Shadow | None:
        left = {lease.id: lease for lease in leases if max(lease.ends_s, now_s) + settle_s > instant_s}
        cards = Board.of(state.cards, left.values()).place(request.shape, request.project_id)
        if cards is None:
            return None
        milli = sum(card.seat_milli for card in cards)
        if reached(request, milli, Holdings.of(left.values(), terms_at(state.rules, instant_s)), state.rules):
            return None
        found = Shadow(instant_s, sum(card.seat_milli for card in cards if card.general))
        if not checked:
            return found
        promises = Promises(replace(state, leases=left), instant_s, others)
        bound = promises.bound(request.project_id, cards, milli)
        return found if bound.ends_s - instant_s >= spans(request.shape, state.rules)[1] else None

    first = _first(instants, lambda instant_s: at(instant_s, checked=False) is not None)
    if first is None:
        return None
    later = instants[instants.index(first) :]
    if (found := at(first, checked=True)) is not None:
        return found
    promised = _first(later, lambda instant_s: at(instant_s, checked=True) is not None)
    return None if promised is None else at(promised, checked=True)


def _first(instants: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    """Return the first instant at which something holds that goes on holding."""
    if not instants or not holds(instants[-1]):
        return None
    place = bisect_left(range(len(instants) - 1), True, key=lambda each: holds(instants[each]))
    return instants[place]
