"""Ends and claim windows, and clocks that jump: nobody loses work or a grant because time went by unseen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bancada_hub.gpus.scheduling import reasons
from bancada_hub.gpus.scheduling.rules import Rules
from bancada_hub.gpus.scheduling.values import End, Lease, Move, PassOn, Shape, State


@dataclass(frozen=True)
class Times:
    """What time makes of the leases.

    Args:
        leases: Those that are left, with their times set anew where needed.
        passed: Grants that nobody claimed in time.
        ends: Leases whose time is over.
        moves: Leases whose times are set anew.
    """

    leases: Mapping[int, Lease]
    passed: tuple[PassOn, ...] = ()
    ends: tuple[End, ...] = ()
    moves: tuple[Move, ...] = ()


def spans(shape: Shape, rules: Rules) -> tuple[float, float]:
    """Return how long a request may have its cards at most, and what it needs at least."""
    wanted_s = min(shape.wanted_s, rules.longest_s[shape.purpose])
    return wanted_s, min(shape.least_s, wanted_s)


def times_of(state: State, now_s: float) -> Times:
    """Return what time makes of the leases.

    When the clock went back, or moved on by more than anybody who looks at it regularly would see, windows that closed
    meanwhile open anew, and leases that ended meanwhile get the grace.
    """
    seen_s, rules = state.use.at_s, state.rules
    away = now_s < seen_s or now_s - seen_s > rules.gap_s
    leases, moves = dict(sorted(state.leases.items())), []
    if away:
        for lease in list(leases.values()):
            moved = _moved(lease, seen_s, now_s, rules)
            if moved != lease:
                leases[lease.id] = moved
                moves.append(Move(lease.id, moved.ends_s, moved.claim_by_s, reasons.clock_jumped(rules.grace_s)))
    passed = [lease for lease in leases.values() if lease.claim_by_s is not None and lease.claim_by_s <= now_s]
    for lease in passed:
        del leases[lease.id]
    over = [lease.id for lease in leases.values() if lease.ends_s <= now_s]
    return Times(
        leases,
        tuple(PassOn(lease.id, reasons.unclaimed(rules.claim_s)) for lease in passed),
        tuple(End(each, reasons.time_over()) for each in over),
        tuple(moves),
    )


def _moved(lease: Lease, seen_s: float, now_s: float, rules: Rules) -> Lease:
    """Return a lease as it is after a jump of the clock from one instant to another."""
    ends_s, claim_by_s = lease.ends_s, lease.claim_by_s
    if seen_s < ends_s < now_s + rules.grace_s and now_s > seen_s:
        ends_s = now_s + rules.grace_s
    longest_s = min(lease.request.shape.wanted_s, rules.longest_s[lease.request.shape.purpose])
    ends_s = min(ends_s, now_s + longest_s)
    if claim_by_s is not None:
        missed = seen_s < claim_by_s <= now_s
        claim_by_s = now_s + rules.claim_s if missed else min(claim_by_s, now_s + rules.claim_s)
    return replace(lease, ends_s=ends_s, claim_by_s=claim_by_s)
