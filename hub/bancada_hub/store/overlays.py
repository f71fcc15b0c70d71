"""Who holds an overlay's upper directory: the lock is our row (and the running container's label), never the engine."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from bancada_hub.store.models import OverlayRow


@dataclass(frozen=True)
class OverlayKey:
    """One overlay: what one person changed in one base, in one project."""

    project_id: int
    person_id: int
    base: str


def holder(session: Session, key: OverlayKey) -> str | None:
    """Return the server that holds the overlay, if one does."""
    row = _row(session, key)
    return row.held_by if row else None


def hold(session: Session, key: OverlayKey, server: str) -> bool:
    """Give the overlay to a server unless another one holds it.

    Args:
        session: A writing session.
        key: The overlay.
        server: A name unique to this start, also on the container's label.

    Returns:
        Whether the server holds it now.
    """
    row = _row(session, key)
    if row is None:
        row = OverlayRow(project_id=key.project_id, person_id=key.person_id, base=key.base)
        session.add(row)
    if row.held_by not in {None, server}:
        return False
    row.held_by, row.held_since = server, datetime.now(UTC)
    session.flush()
    return True


def release(session: Session, server: str) -> None:
    """Take whatever a server holds from it."""
    for row in session.scalars(select(OverlayRow).where(OverlayRow.held_by == server)):
        row.held_by = row.held_since = None


def held(session: Session) -> dict[str, OverlayKey]:
    """Return all overlays that are held, by the server that holds them."""
    rows = session.scalars(select(OverlayRow).where(OverlayRow.held_by.is_not(None)))
    return {row.held_by: OverlayKey(row.project_id, row.person_id, row.base) for row in rows if row.held_by}


def _row(session: Session, key: OverlayKey) -> OverlayRow | None:
    query = select(OverlayRow).where(
        OverlayRow.project_id == key.project_id,
        OverlayRow.person_id == key.person_id,
        OverlayRow.base == key.base,
    )
    return session.scalar(query)
