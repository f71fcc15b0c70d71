"""How servers ended that their people did not stop: one row for a person in a project, until the next start."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from bancada_hub.store.models import ServerEndRow


@dataclass(frozen=True)
class ServerEnd:
    """The end of a server.

    Args:
        at: When.
        cause: A fixed word, of `launch.ending.Cause`.
        status: Its exit status; 0 where nobody knows it.
        memory_bytes: Its memory limit; None where nobody knows it.
        by: Who ended it; empty when nobody did.
    """

    at: datetime
    cause: str
    status: int = 0
    memory_bytes: int | None = None
    by: str = ""


def keep_end(session: Session, project_id: int, person_id: int, end: ServerEnd) -> None:
    """Keep how a server ended, in place of what was kept of an earlier one."""
    row = ServerEndRow(
        project_id=project_id,
        person_id=person_id,
        at=end.at,
        cause=end.cause,
        status=end.status,
        memory_bytes=end.memory_bytes,
        by=end.by,
    )
    session.merge(row)
    session.flush()


def forget_end(session: Session, project_id: int, person_id: int) -> bool:
    """Forget how a server ended; returns whether that was known."""
    end = session.get(ServerEndRow, (project_id, person_id))
    session.execute(
        delete(ServerEndRow).where(ServerEndRow.project_id == project_id, ServerEndRow.person_id == person_id)
    )
    return end is not None


def ends_of(session: Session, person_id: int) -> dict[int, ServerEnd]:
    """Return how a person's servers ended, by the number of the project."""
    rows = session.scalars(select(ServerEndRow).where(ServerEndRow.person_id == person_id))
    return {row.project_id: _end(row) for row in rows}


def _end(row: ServerEndRow) -> ServerEnd:
    return ServerEnd(row.at, row.cause, row.status, row.memory_bytes, row.by)
