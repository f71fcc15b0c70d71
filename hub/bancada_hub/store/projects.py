"""Projects and who is in them."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from bancada_hub.store.models import MemberRow, ProjectRow
from bancada_hub.store.people import next_gid


@dataclass(frozen=True)
class Project:
    """A project; `owner_id` is set for personal ones."""

    id: int
    slug: str
    title: str
    gid: int
    owner_id: int | None

    @property
    def personal(self) -> bool:
        """Whether this is somebody's personal project."""
        return self.owner_id is not None


def find_project(session: Session, slug: str) -> Project | None:
    """Return the project of this slug, if there is one."""
    row = session.scalar(select(ProjectRow).where(ProjectRow.slug == slug))
    return _project(row) if row else None


def add_project(session: Session, slug: str, title: str, *, first_gid: int) -> Project:
    """Add a project without members."""
    gid = next_gid(session, first_gid)
    row = ProjectRow(slug=slug, title=title, gid=gid, owner_id=None, created_at=datetime.now(UTC))
    session.add(row)
    session.flush()
    return _project(row)


def add_member(session: Session, project_id: int, person_id: int, *, lead: bool = False) -> None:
    """Make a person a member of a project; nothing changes for one who is."""
    if session.get(MemberRow, (project_id, person_id)) is None:
        session.add(MemberRow(project_id=project_id, person_id=person_id, lead=lead))
        session.flush()


def projects_of(session: Session, person_id: int) -> list[Project]:
    """Return the projects that a person is in: shared ones by title, then the personal one."""
    query = (
        select(ProjectRow)
        .join(MemberRow, MemberRow.project_id == ProjectRow.id)
        .where(MemberRow.person_id == person_id)
        .order_by(ProjectRow.owner_id.is_not(None), ProjectRow.title)
    )
    return [_project(row) for row in session.scalars(query)]


def is_member(session: Session, project_id: int, person_id: int) -> bool:
    """Return whether a person is in a project."""
    return session.get(MemberRow, (project_id, person_id)) is not None


def _project(row: ProjectRow) -> Project:
    return Project(row.id, row.slug, row.title, row.gid, row.owner_id)
