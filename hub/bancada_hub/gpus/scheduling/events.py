"""What a decision, or somebody's click, makes of the state. Each step is complete: a crash between two does no harm."""

from dataclasses import replace

from bancada_hub.gpus.scheduling.accounts import advance
from bancada_hub.gpus.scheduling.schedule import Pass
from bancada_hub.gpus.scheduling.values import Decisions, Drop, Grant, Health, Lease, Move, PassOn, Request, State

Step = Drop | PassOn | Move | Grant


def ask(state: State, request: Request) -> State:
    """Return the state with a request; nothing changes for one that waits, or holds cards, already."""
    if request.id in state.leases:
        return state
    return replace(state, waiting=state.waiting.add(request))


def cancel(state: State, request_id: int) -> State:
    """Return the state without a request; one that is not waiting changes nothing."""
    return replace(state, waiting=state.waiting.without([request_id]))


def claim(state: State, lease_id: int, now_s: float) -> State:
    """Return the state with a grant claimed: a server holds it from now on.

    A second claim changes nothing, nor does one that comes after the claim window: then the grant has passed on, or is
    about to.
    """
    lease = state.leases.get(lease_id)
    if lease is None or lease.claim_by_s is None or lease.claim_by_s <= now_s:
        return state
    return replace(state, leases={**state.leases, lease_id: replace(lease, claim_by_s=None)})


def release(state: State, lease_id: int, now_s: float, *, clear: bool = True) -> State:
    """Return the state without a lease whose server has gone.

    Args:
        state: The state.
        lease_id: The lease; one that is not there changes nothing.
        now_s: The instant.
        clear: Whether no process and no memory was seen on its cards; otherwise they need attention.
    """
    lease = state.leases.get(lease_id)
    if lease is None:
        return state
    use = advance(state, now_s)
    cards = state.cards
    if not clear:
        cards = tuple(
            replace(card, health=Health.ATTENTION) if card.uuid in lease.cards and card.health is Health.GOOD else card
            for card in cards
        )
    left = {each: other for each, other in state.leases.items() if each != lease_id}
    return replace(state, leases=left, use=use, cards=cards)


def steps_of(decisions: Decisions) -> list[Step]:
    """Return the steps of a decision that change rows, in an order in which each prefix is a good state."""
    return [*decisions.drops, *decisions.moves, *decisions.passed, *decisions.grants]


def apply_step(state: State, step: Step) -> State:
    """Return the state after one step; a step that was applied before changes nothing."""
    match step:
        case Drop():
            return cancel(state, step.request_id)
        case PassOn():
            return replace(state, leases={k: lease for k, lease in state.leases.items() if k != step.lease_id})
        case Move():
            lease = state.leases.get(step.lease_id)
            if lease is None:
                return state
            moved = replace(lease, ends_s=step.ends_s, claim_by_s=step.claim_by_s)
            return replace(state, leases={**state.leases, step.lease_id: moved})
    return _granted(state, step.lease)


def _granted(state: State, lease: Lease) -> State:
    request = lease.request
    if request.id not in state.waiting.by_id:
        return state
    served, pair = state.served, (request.project_id, request.person_id)
    if state.waiting.oldest[pair].id == request.id:
        served = {**served, pair: lease.granted_s}
    leases, waiting = {**state.leases, lease.id: lease}, state.waiting.without([request.id])
    return replace(state, leases=leases, waiting=waiting, served=served)


def apply(state: State, decisions: Decisions) -> State:
    """Return the state after a decision, as one transaction makes it."""
    state = replace(state, use=decisions.use)
    for step in steps_of(decisions):
        state = apply_step(state, step)
    return state


def extend(state: State, lease_id: int, until_s: float, now_s: float) -> float:
    """Return until when a lease may last, if its owner would like to go on: never less than it has.

    Nothing that was promised to anybody is given away: neither guarantees, nor the cards of those who wait first.

    Args:
        state: The state, after the last decision.
        lease_id: The lease.
        until_s: What its owner would like.
        now_s: The instant.
    """
    lease = state.leases[lease_id]
    trial = Pass(state, now_s)
    trial.decide()
    cards = [card for card in state.cards if card.uuid in lease.cards]
    bound = trial.promises.bound(lease.request.project_id, cards, lease.milli, beyond_s=lease.ends_s)
    longest_s = state.rules.longest_s[lease.request.shape.purpose]
    return max(lease.ends_s, min(until_s, now_s + longest_s, bound.ends_s))
