"""Leases of cards, the seats that they take, and what the queue remembers.

A seat is a row of its own with the card's UUID in its key: should two decisions ever give one card to two servers, the
second transaction fails as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from bancada_hub.store.queue_models import LeaseRow, QueueRow, RequestRow, SeatRow
from bancada_hub.store.requests import StoredRequest, stored_request


@dataclass(frozen=True)
class StoredLease:
    """A lease as it is.

    Args:
        request_id: The request that it was granted to.
        cards: UUIDs.
        milli: How much it counts, in thousandths of a card.
        granted_s: Since when.
        ends_s: Until when at most.
        claim_by_s: Until when it waits for its owner; None once it is claimed.
        backfill: Whether it was let in ahead of its turn.
        server: The start that holds it; empty before.
        renewed_s: When its server was heard of last; None before it was.
        warned_for_s: The end of which its holder was warned; None before they were.
    """

    request_id: int
    cards: tuple[str, ...]
    milli: int
    granted_s: float
    ends_s: float
    claim_by_s: float | None = None
    backfill: bool = False
    server: str = ""
    renewed_s: float | None = None
    warned_for_s: float | None = None


@dataclass(frozen=True)
class Memory:
    """What the queue remembers.

    Args:
        at_s: The instant that use is counted to.
        use: Everybody's use, in the scheduler's words.
        served: Who was served when, in the scheduler's words.
        version: Counts the changes of the queue.
    """

    at_s: float = 0.0
    use: Mapping[str, object] | None = None
    served: Mapping[str, object] | None = None
    version: int = 0


def live_leases(session: Session) -> list[tuple[StoredLease, StoredRequest]]:
    """Return all leases that have not ended, with their requests, by number."""
    query = (
        select(LeaseRow, RequestRow)
        .join(RequestRow, RequestRow.id == LeaseRow.request_id)
        .where(LeaseRow.ended_s.is_(None))
        .order_by(LeaseRow.request_id)
    )
    return [(_stored(lease), stored_request(request)) for lease, request in session.execute(query).all()]


def add_lease(session: Session, lease: StoredLease, seats: Mapping[str, int]) -> None:
    """Give cards to a request.

    Args:
        session: A writing session.
        lease: The lease.
        seats: How many leases each of its cards takes at once.
    """
    values = {name: getattr(lease, name) for name in StoredLease.__dataclass_fields__}
    session.add(LeaseRow(**{**values, "cards": list(lease.cards)}))
    session.flush()
    for card in lease.cards:
        taken = set(session.scalars(select(SeatRow.seat).where(SeatRow.card == card)))
        free = next((seat for seat in range(seats[card]) if seat not in taken), 0)
        session.add(SeatRow(card=card, seat=free, request_id=lease.request_id))
    session.flush()


def claim_lease(session: Session, request_id: int, server: str, now_s: float) -> bool:
    """Let a server take a grant.

    Returns:
        Whether it has it now: not when another claimed it first, when it has ended, or its window has closed.
    """
    row = session.get(LeaseRow, request_id)
    if row is None or row.ended_s is not None:
        return False
    if row.claim_by_s is None:
        return row.server == server
    if row.claim_by_s <= now_s:
        return False
    row.claim_by_s, row.server = None, server
    session.flush()
    return True


def grant_for(session: Session, pair: tuple[int, int], now_s: float) -> StoredLease | None:
    """Return the grant that waits for a person in a project to start; None when there is none, or its window closed.

    Args:
        session: A session.
        pair: The project's number and the person's.
        now_s: The instant.
    """
    query = (
        select(LeaseRow)
        .join(RequestRow, RequestRow.id == LeaseRow.request_id)
        .where(
            RequestRow.project_id == pair[0],
            RequestRow.person_id == pair[1],
            LeaseRow.ended_s.is_(None),
            LeaseRow.claim_by_s > now_s,
        )
        .order_by(LeaseRow.request_id)
        .limit(1)
    )
    row = session.scalar(query)
    return _stored(row) if row else None


def cards_held(session: Session, pair: tuple[int, int]) -> tuple[str, ...]:
    """Return the cards that a server holds, of a person in a project."""
    query = (
        select(LeaseRow.cards)
        .join(RequestRow, RequestRow.id == LeaseRow.request_id)
        .where(RequestRow.project_id == pair[0], RequestRow.person_id == pair[1])
        .where(LeaseRow.ended_s.is_(None), LeaseRow.server != "")
    )
    return tuple(uuid for cards in session.scalars(query) for uuid in cards)


def holders_of(session: Session, card: str) -> list[int]:
    """Return the requests whose leases hold a card, or a MIG instance, now."""
    return list(session.scalars(select(SeatRow.request_id).where(SeatRow.card == card).order_by(SeatRow.request_id)))


def renew_leases(session: Session, pair: tuple[int, int], now_s: float) -> None:
    """Keep that the server of a person in a project was heard of: what it holds is in use.

    Args:
        session: A writing session.
        pair: The project's number and the person's.
        now_s: The instant.
    """
    query = (
        select(LeaseRow)
        .join(RequestRow, RequestRow.id == LeaseRow.request_id)
        .where(RequestRow.project_id == pair[0], RequestRow.person_id == pair[1])
        .where(LeaseRow.ended_s.is_(None), LeaseRow.server != "")
    )
    for row in session.scalars(query):
        row.renewed_s = now_s
    session.flush()


def ended_lengths(session: Session, most: int = 2000) -> list[tuple[int, dict[str, object], float]]:
    """Return the project, the shape and the length in seconds of leases that have ended, the newest last.

    Args:
        session: A session.
        most: Only so many of the newest.
    """
    query = (
        select(RequestRow.project_id, RequestRow.shape, LeaseRow.ended_s, LeaseRow.granted_s)
        .join(RequestRow, RequestRow.id == LeaseRow.request_id)
        .where(LeaseRow.ended_s.is_not(None), LeaseRow.server != "")
        .order_by(LeaseRow.ended_s.desc())
        .limit(most)
    )
    rows = session.execute(query).all()
    return [(project_id, shape, ended_s - granted_s) for project_id, shape, ended_s, granted_s in reversed(rows)]


def note_warned(session: Session, request_id: int, ends_s: float) -> None:
    """Keep that the holder of a lease was warned of its end."""
    row = session.get(LeaseRow, request_id)
    if row is not None:
        row.warned_for_s = ends_s


def move_lease(session: Session, request_id: int, ends_s: float, claim_by_s: float | None) -> None:
    """Set a lease's times anew; nothing changes for one that has ended."""
    row = session.get(LeaseRow, request_id)
    if row is not None and row.ended_s is None:
        row.ends_s, row.claim_by_s = ends_s, claim_by_s
        session.flush()


def give_up(session: Session, request_id: int, at_s: float) -> bool:
    """End a lease that no server has taken yet.

    Returns:
        Whether it was there, and unclaimed.
    """
    row = session.get(LeaseRow, request_id)
    return row is not None and row.claim_by_s is not None and end_lease(session, request_id, at_s)


def end_lease(session: Session, request_id: int, at_s: float) -> bool:
    """End a lease and free its seats.

    Returns:
        Whether it had not ended before.
    """
    row = session.get(LeaseRow, request_id)
    if row is None or row.ended_s is not None:
        return False
    row.ended_s = at_s
    session.execute(delete(SeatRow).where(SeatRow.request_id == request_id))
    session.flush()
    return True


def read_memory(session: Session) -> Memory:
    """Return what the queue remembers; nothing at first."""
    row = session.get(QueueRow, 1)
    return Memory(row.at_s, row.use, row.served, row.version) if row else Memory()


def write_memory(session: Session, memory: Memory) -> None:
    """Remember; the version goes up by itself."""
    row = session.get(QueueRow, 1)
    if row is None:
        row = QueueRow(id=1, version=0)
        session.add(row)
    row.at_s, row.use, row.served = memory.at_s, dict(memory.use or {}), dict(memory.served or {})
    row.version += 1
    session.flush()


def _stored(row: LeaseRow) -> StoredLease:
    values = {name: getattr(row, name) for name in StoredLease.__dataclass_fields__}
    return StoredLease(**{**values, "cards": tuple(row.cards)})
