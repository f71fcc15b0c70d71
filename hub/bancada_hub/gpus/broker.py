"""The queue at work: rows become a state, the scheduler decides, and one transaction writes what was decided.

Whoever holds the database's write lock may do it: the console on its clock, and after each request, end and change.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from sqlalchemy.orm import Session

from bancada_hub.gpus.scheduling import events
from bancada_hub.gpus.scheduling.accounts import advance
from bancada_hub.gpus.scheduling.rules import Purpose, Rules
from bancada_hub.gpus.scheduling.schedule import schedule
from bancada_hub.gpus.scheduling.values import Card, Decisions, Lease, OnGrant, Pair, Request, Shape, State, Use
from bancada_hub.gpus.scheduling.waiting import Waiting
from bancada_hub.store import leases, requests
from bancada_hub.store.database import Store
from bancada_hub.store.leases import Memory, StoredLease
from bancada_hub.store.requests import NewRequest, RequestState, StoredRequest

FEW = 100
"""Up to so many new requests are put into the queue one by one; more, and it is made anew."""


@dataclass(frozen=True)
class Lab:
    """What is decided about.

    Args:
        cards: The inventory.
        rules: The rules.
    """

    cards: tuple[Card, ...]
    rules: Rules


def ask(session: Session, pair: Pair, shape: Shape, on_grant: OnGrant, now_s: float) -> int:
    """Let a request wait, and return its number; `door.read_shape` has let it in."""
    return requests.add_request(session, NewRequest(*pair, asdict(shape), on_grant.value, now_s))


def cancel(session: Session, request_id: int, now_s: float) -> bool:
    """Take a request out of the queue; say whether it still waited."""
    return requests.close_request(session, request_id, RequestState.CANCELLED, None, now_s)


def claim(session: Session, request_id: int, server: str, now_s: float) -> bool:
    """Let a server take a grant; say whether it has it."""
    return leases.claim_lease(session, request_id, server, now_s)


def release(session: Session, lab: Lab, request_id: int, now_s: float) -> bool:
    """End a lease whose server has gone and whose cards were seen free; say whether it had not ended before.

    Use is counted up to now first, as long as the lease is there to be counted.
    """
    state = load(session, lab, Waiting())
    _remember(session, advance(state, now_s), state.served)
    return leases.end_lease(session, request_id, now_s)


@dataclass
class Turn:
    """One transaction in which things happen to the queue, and are decided about.

    Args:
        session: A writing session: from reading to writing nobody else decides.
        known: Who waited before, as far as it is known; the rest is read.
    """

    session: Session
    known: Waiting[Request] = field(default_factory=Waiting)

    def decide(self, lab: Lab, now_s: float) -> Decisions:
        """Decide, and write it down."""
        self.known = _waiting(self.session, self.known)
        return decide(self.session, lab, now_s, self.known)


class Broker:
    """Decides again and again, and remembers who waited: a decision reads only the requests that are new.

    Rows of requests are never deleted, and but for their state never changed; so what was read once and committed
    stays true for as long as the request waits.

    Args:
        store: The database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: Waiting[Request] = Waiting()

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Run one transaction; what it read of the queue is remembered once it is committed."""
        with self._store.write() as session:
            turn = Turn(session, self._waiting)
            yield turn
        self._waiting = turn.known

    def decide(self, lab: Lab, now_s: float, first: Callable[[Session], object] | None = None) -> Decisions:
        """Decide in a transaction of its own.

        Args:
            lab: The cards and rules.
            now_s: The instant.
            first: What happened, to be written in the same transaction before the decision: a request, an end.
        """
        with self.turn() as turn:
            if first is not None:
                first(turn.session)
            return turn.decide(lab, now_s)


def decide(session: Session, lab: Lab, now_s: float, waiting: Waiting[Request] | None = None) -> Decisions:
    """Decide, and write it down in the same transaction.

    Args:
        session: A writing session: from reading to writing nobody else decides.
        lab: The cards and rules.
        now_s: The instant.
        waiting: Who waits, if that was read already.
    """
    state = load(session, lab, waiting)
    decisions = schedule(state, now_s)
    for drop in decisions.drops:
        requests.close_request(session, drop.request_id, RequestState.DROPPED, drop.reason, now_s)
    for move in decisions.moves:
        leases.move_lease(session, move.lease_id, move.ends_s, move.claim_by_s)
    for passed in decisions.passed:
        leases.end_lease(session, passed.lease_id, now_s)
    seats = {card.uuid: card.tenants for card in lab.cards}
    for grant in decisions.grants:
        requests.close_request(session, grant.lease.id, RequestState.GRANTED, grant.reason, now_s)
        leases.add_lease(session, _stored(grant.lease), seats)
    _remember(session, decisions.use, events.apply(state, decisions).served)
    return decisions


def load(session: Session, lab: Lab, waiting: Waiting[Request] | None = None) -> State:
    """Return the state that the rows make.

    Args:
        session: A session.
        lab: The cards and rules.
        waiting: Who waits, if that was read already.
    """
    memory = leases.read_memory(session)
    live = [_lease(lease, request) for lease, request in leases.live_leases(session)]
    use = memory.use or {}
    return State(
        cards=lab.cards,
        rules=lab.rules,
        waiting=_waiting(session, Waiting()) if waiting is None else waiting,
        leases={lease.id: lease for lease in live},
        use=Use(memory.at_s, _by_number(use, "labs"), _by_number(use, "projects"), _by_pair(use, "people")),
        served=_by_pair(memory.served or {}, "pairs"),
        barred=requests.barred_pairs(session),
    )


def _waiting(session: Session, known: Waiting[Request]) -> Waiting[Request]:
    """Return who waits, given who waited before: numbers only go up, and nobody waits again with the same number."""
    last, queue = max(known.by_id, default=0), known
    if requests.count_waiting_to(session, last) != len(known):
        queue = known.without(known.by_id.keys() - requests.waiting_ids(session))
    new = [_request(each) for each in requests.waiting_after(session, last)]
    if len(new) > FEW:
        return Waiting.of((*queue, *new))
    for request in new:
        queue = queue.add(request)
    return queue


def _remember(session: Session, use: Use, served: Mapping[Pair, float]) -> None:
    kept = {"labs": _rows(use.labs.items()), "projects": _rows(use.projects.items()), "people": _pairs(use.people)}
    leases.write_memory(session, Memory(use.at_s, kept, {"pairs": _pairs(served)}))


def _rows(items: Iterable[tuple[int, float]]) -> list[list[float]]:
    return [[number, value] for number, value in items]


def _pairs(values: Mapping[Pair, float]) -> list[list[float]]:
    return [[*pair, value] for pair, value in values.items()]


def _by_number(kept: Mapping[str, object], name: str) -> dict[int, float]:
    rows = kept.get(name)
    return {int(number): float(value) for number, value in rows} if isinstance(rows, list) else {}


def _by_pair(kept: Mapping[str, object], name: str) -> dict[Pair, float]:
    rows = kept.get(name)
    return {(int(a), int(b)): float(value) for a, b, value in rows} if isinstance(rows, list) else {}


def _request(row: StoredRequest) -> Request:
    return Request(row.id, row.project_id, row.person_id, _shape(row.shape), row.asked_s, OnGrant(row.on_grant))


def _shape(kept: Mapping[str, object]) -> Shape:
    return Shape(**{**kept, "purpose": Purpose(kept["purpose"])})  # type: ignore[arg-type]  # as `ask` wrote it


def _lease(row: StoredLease, request: StoredRequest) -> Lease:
    return Lease(
        _request(request), row.cards, row.milli, row.granted_s, row.ends_s, row.claim_by_s, backfill=row.backfill
    )


def _stored(lease: Lease) -> StoredLease:
    return StoredLease(
        lease.id, lease.cards, lease.milli, lease.granted_s, lease.ends_s, lease.claim_by_s, backfill=lease.backfill
    )
