"""Requests for cards: who waits, and what became of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from bancada_hub.errors import Told, told
from bancada_hub.store.models import MemberRow, PersonRow, ProjectRow
from bancada_hub.store.queue_models import LeaseRow, RequestRow


class RequestState(StrEnum):
    """What became of a request."""

    WAITING = "waiting"
    GRANTED = "granted"
    CANCELLED = "cancelled"
    DROPPED = "dropped"


@dataclass(frozen=True)
class NewRequest:
    """A request that is to wait.

    Args:
        project_id: The project that it counts for.
        person_id: Who asks.
        shape: What for, in the scheduler's words.
        on_grant: What happens when it is granted.
        asked_s: When, in seconds since 1970.
    """

    project_id: int
    person_id: int
    shape: Mapping[str, object]
    on_grant: str
    asked_s: float


@dataclass(frozen=True)
class StoredRequest(NewRequest):
    """A request as it is, with its number and what became of it, and why."""

    id: int
    state: RequestState
    reason: Told | None = None


def add_request(session: Session, new: NewRequest) -> int:
    """Let a request wait, and return its number."""
    row = RequestRow(
        project_id=new.project_id,
        person_id=new.person_id,
        shape=dict(new.shape),
        on_grant=new.on_grant,
        asked_s=new.asked_s,
        state=RequestState.WAITING,
        reason={},
    )
    session.add(row)
    session.flush()
    return row.id


def waiting_ids(session: Session) -> set[int]:
    """Return the numbers of all that wait."""
    return set(session.scalars(select(RequestRow.id).where(RequestRow.state == RequestState.WAITING)))


def count_waiting_to(session: Session, last: int) -> int:
    """Return how many wait of those whose number is at most `last`."""
    query = select(func.count()).where(RequestRow.state == RequestState.WAITING, RequestRow.id <= last)
    return session.scalar(query) or 0


def waiting_after(session: Session, last: int) -> list[StoredRequest]:
    """Return those that wait and whose number is higher than `last`, oldest number first."""
    newer = (RequestRow.state == RequestState.WAITING) & (RequestRow.id > last)
    return [stored_request(row) for row in session.scalars(select(RequestRow).where(newer).order_by(RequestRow.id))]


def count_waiting(session: Session, person_id: int) -> int:
    """Return how many of a person's requests wait."""
    query = select(func.count()).where(RequestRow.person_id == person_id, RequestRow.state == RequestState.WAITING)
    return session.scalar(query) or 0


def open_requests(session: Session, pair: tuple[int, int]) -> list[StoredRequest]:
    """Return those of a person in a project that wait, or whose lease has not ended.

    Args:
        session: A session.
        pair: The project's number and the person's.
    """
    waits = RequestRow.state == RequestState.WAITING
    holds = RequestRow.id.in_(select(LeaseRow.request_id).where(LeaseRow.ended_s.is_(None)))
    query = select(RequestRow).where(RequestRow.project_id == pair[0], RequestRow.person_id == pair[1], waits | holds)
    return [stored_request(row) for row in session.scalars(query.order_by(RequestRow.id))]


def find_request(session: Session, request_id: int) -> StoredRequest | None:
    """Return a request, whatever became of it."""
    row = session.get(RequestRow, request_id)
    return stored_request(row) if row else None


def close_request(session: Session, request_id: int, state: RequestState, reason: Told | None, at_s: float) -> bool:
    """Say what became of a request that waits.

    Returns:
        Whether it still waited; otherwise nothing changed.
    """
    row = session.get(RequestRow, request_id)
    if row is None or row.state != RequestState.WAITING:
        return False
    row.state, row.closed_s = state, at_s
    row.reason = {"template": reason.template, "values": reason.values} if reason else {}
    session.flush()
    return True


def barred_pairs(session: Session) -> frozenset[tuple[int, int]]:
    """Return whoever waits in a project that they are not in, that is archived, or while they are disabled."""
    query = _barred(select(RequestRow.project_id, RequestRow.person_id).distinct())
    rows = session.execute(query.where(RequestRow.state == RequestState.WAITING)).all()
    return frozenset((project_id, person_id) for project_id, person_id in rows)


def barred_grants(session: Session) -> list[int]:
    """Return the requests whose grant waits for an owner who may no longer work there, as `barred_pairs` has it."""
    unclaimed = select(LeaseRow.request_id).where(LeaseRow.ended_s.is_(None), LeaseRow.claim_by_s.is_not(None))
    return list(session.scalars(_barred(select(RequestRow.id)).where(RequestRow.id.in_(unclaimed))))


def _barred(query: Any) -> Any:  # noqa: ANN401 - a query of any columns
    return (
        query.join(PersonRow, PersonRow.id == RequestRow.person_id)
        .join(ProjectRow, ProjectRow.id == RequestRow.project_id)
        .outerjoin(
            MemberRow,
            (MemberRow.project_id == RequestRow.project_id) & (MemberRow.person_id == RequestRow.person_id),
        )
        .where(MemberRow.person_id.is_(None) | PersonRow.disabled | ProjectRow.archived_at.is_not(None))
    )


def stored_request(row: RequestRow) -> StoredRequest:
    """Return what a row says."""
    reason = told(row.reason["template"], **row.reason["values"]) if row.reason else None
    return StoredRequest(
        row.project_id, row.person_id, row.shape, row.on_grant, row.asked_s, row.id, RequestState(row.state), reason
    )
