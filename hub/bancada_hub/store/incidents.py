"""Incidents of cards: what failed, since when, until when, and who held the card then."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from bancada_hub.errors import Told
from bancada_hub.store import notices
from bancada_hub.store.card_models import IncidentRow

Holder = tuple[int, int, int]
"""The numbers of a request, its project and its person."""


@dataclass(frozen=True)
class NewIncident:
    """What failed.

    Args:
        card: The card's UUID; empty for all cards of the machine.
        cause: A fixed word, of `gpus.inventory.Cause`.
        words: What happened.
        held: Who holds the card.
        detail: What tells its recovery, and more, as JSON.
    """

    card: str
    cause: str
    words: Told
    held: tuple[Holder, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Incident(NewIncident):
    """An incident as it is kept.

    Args:
        id: Its number.
        began_s: Since when.
        ended_s: Until when; None while it lasts.
        closed_by: Who said that it is over; empty when the clock found it so.
    """

    id: int = 0
    began_s: float = 0.0
    ended_s: float | None = None
    closed_by: str = ""


def open_incidents(session: Session) -> list[Incident]:
    """Return what has not recovered, the oldest first."""
    query = select(IncidentRow).where(IncidentRow.ended_s.is_(None)).order_by(IncidentRow.id)
    return [_incident(row) for row in session.scalars(query)]


def latest_incidents(session: Session, most: int = 50) -> list[Incident]:
    """Return the newest incidents, those that last before all others."""
    query = select(IncidentRow).order_by(IncidentRow.ended_s.is_not(None), IncidentRow.id.desc()).limit(most)
    return [_incident(row) for row in session.scalars(query)]


def find_incident(session: Session, number: int) -> Incident | None:
    """Return an incident, over or not."""
    row = session.get(IncidentRow, number)
    return _incident(row) if row else None


def open_incident(session: Session, new: NewIncident, now_s: float, again_after_s: float) -> tuple[Incident, bool]:
    """Open an incident, or one of the same kind again that ended only just: it comes and goes.

    Args:
        session: A writing session.
        new: What failed.
        now_s: The instant.
        again_after_s: One that ended earlier than this is another one.

    Returns:
        The incident, and whether it is a new one.
    """
    query = select(IncidentRow).where(IncidentRow.card == new.card, IncidentRow.cause == new.cause)
    row = session.scalar(query.order_by(IncidentRow.id.desc()).limit(1))
    is_new = row is None or row.ended_s is None or row.ended_s < again_after_s or bool(row.closed_by)
    if row is None or is_new:
        row = IncidentRow(card=new.card, cause=new.cause, began_s=now_s)
        session.add(row)
    row.words, row.detail, row.ended_s, row.closed_by = notices.as_kept(new.words), dict(new.detail), None, ""
    row.held, row.open_key = [list(each) for each in new.held], f"{new.card} {new.cause}"
    session.flush()
    return _incident(row), is_new


def close_incident(session: Session, number: int, now_s: float, by: str = "") -> bool:
    """End an incident; returns whether it still lasted. A clock that jumped back ends none before it began."""
    row = session.get(IncidentRow, number)
    if row is None or row.ended_s is not None:
        return False
    row.ended_s, row.open_key, row.closed_by = max(now_s, row.began_s), None, by
    session.flush()
    return True


def _incident(row: IncidentRow) -> Incident:
    return Incident(
        card=row.card,
        cause=row.cause,
        words=notices.from_kept(row.words),
        held=tuple((each[0], each[1], each[2]) for each in row.held),
        detail=row.detail,
        id=row.id,
        began_s=row.began_s,
        ended_s=row.ended_s,
        closed_by=row.closed_by,
    )
