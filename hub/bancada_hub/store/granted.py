"""The ledger as people read it: what was granted, to whom, in which project, the newest first."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, false, or_, select
from sqlalchemy.orm import Session

from bancada_hub.store.models import LedgerRow, PersonRow, ProjectRow

PAGE = 100


@dataclass(frozen=True)
class Grant:
    """A row of the ledger, with the names that people know it by.

    Args:
        id: Rises with each row.
        at: When.
        kind: `membership.granted`, ….
        project: The project's slug; empty when it is about a lab.
        project_title: Its title.
        person: The account name of the one to whom, or by whom; empty when nobody.
        person_title: What pages call them.
        detail: More.
    """

    id: int
    at: datetime
    kind: str
    project: str
    project_title: str
    person: str
    person_title: str
    detail: dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """Which rows.

    Args:
        project_ids: Of these projects.
        lab: Also what is about this lab itself, by its slug; empty for nothing of that kind.
        before_id: Only rows before this one, for the next page.
        limit: How many at most.
    """

    project_ids: tuple[int, ...]
    lab: str = ""
    before_id: int | None = None
    limit: int = PAGE


def grants(session: Session, wanted: Wanted) -> list[Grant]:
    """Return rows of the ledger, the newest first."""
    about_lab = and_(LedgerRow.project_id.is_(None), LedgerRow.detail["lab"].as_string() == wanted.lab)
    query = (
        select(LedgerRow, ProjectRow, PersonRow)
        .outerjoin(ProjectRow, ProjectRow.id == LedgerRow.project_id)
        .outerjoin(PersonRow, PersonRow.id == LedgerRow.person_id)
        .where(or_(LedgerRow.project_id.in_(wanted.project_ids), about_lab if wanted.lab else false()))
        .order_by(LedgerRow.id.desc())
        .limit(wanted.limit)
    )
    if wanted.before_id is not None:
        query = query.where(LedgerRow.id < wanted.before_id)
    return [_grant(row, project, person) for row, project, person in session.execute(query).all()]


def _grant(row: LedgerRow, project: ProjectRow | None, person: PersonRow | None) -> Grant:
    return Grant(
        id=row.id,
        at=row.at,
        kind=row.kind,
        project=project.slug if project else "",
        project_title=project.title if project else "",
        person=person.name if person else "",
        person_title=(person.display_name or person.name) if person else "",
        detail=dict(row.detail),
    )
