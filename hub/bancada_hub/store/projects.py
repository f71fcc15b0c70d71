"""Projects and who is in them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias, get_args

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from bancada_hub.roles import Subject
from bancada_hub.store.gpu_rules import WITHIN_S, ProjectShare
from bancada_hub.store.models import MemberRow, PersonRow, ProjectRow
from bancada_hub.store.people import Person, get_person, next_gid

Egress: TypeAlias = Literal["open", "mirror", "none"]
"""Where a project's servers may reach: anywhere outside, the site's package mirror alone, or nowhere."""

EGRESSES: tuple[Egress, ...] = get_args(Egress)


@dataclass(frozen=True)
class ProjectLimits:
    """What a project's servers may hold together, and where they may reach; None is no limit of its own."""

    max_memory_bytes: int | None = None
    max_cpus: float | None = None
    egress: Egress = "open"


@dataclass(frozen=True)
class Member:
    """Somebody in a project."""

    person: Person
    lead: bool


@dataclass(frozen=True)
class Project:
    """A project; `owner_id` is set for personal ones, `lab_id` for all others.

    `version` counts the changes of its words and limits, so that nobody overwrites what they have not read. What its
    servers hold together stays under `max_cpus` and `max_memory_bytes`, where they are set.
    """

    id: int
    slug: str
    title: str
    gid: int
    owner_id: int | None
    lab_id: int | None = None
    archived_at: datetime | None = None
    version: int = 1
    max_cpus: float | None = None
    max_memory_bytes: int | None = None
    egress: Egress = "open"
    max_gpus: int | None = None
    max_person_gpus: int | None = None
    gpu_guarantee: int = 0
    gpu_within_s: float = WITHIN_S
    gpu_memory_bytes: int = 0
    gpu_weight: float = 1.0

    @property
    def subject(self) -> Subject:
        """What `bancada_hub.roles.may` is asked about."""
        return Subject(self.lab_id, self.id, self.personal)

    @property
    def limits(self) -> ProjectLimits:
        """What its servers may hold together, and where they may reach."""
        known: dict[str, Egress] = {each: each for each in EGRESSES}
        egress = known.get(self.egress, "none")  # a word that this release does not know opens nothing
        return ProjectLimits(self.max_memory_bytes, self.max_cpus, egress)

    @property
    def share(self) -> ProjectShare:
        """What it may have of the GPUs."""
        return ProjectShare(**{name: getattr(self, name) for name in ProjectShare.__dataclass_fields__})

    @property
    def personal(self) -> bool:
        """Whether this is somebody's personal project."""
        return self.owner_id is not None


def find_project(session: Session, slug: str) -> Project | None:
    """Return the project of this slug, if there is one."""
    row = session.scalar(select(ProjectRow).where(ProjectRow.slug == slug))
    return _project(row) if row else None


def get_project(session: Session, project_id: int) -> Project:
    """Return the project of this number, which exists."""
    return _project(session.get_one(ProjectRow, project_id))


def all_projects(session: Session, *, lab_id: int | None = None) -> list[Project]:
    """Return all shared projects by title, or those of one lab; those in use first."""
    query = select(ProjectRow).where(ProjectRow.owner_id.is_(None))
    if lab_id is not None:
        query = query.where(ProjectRow.lab_id == lab_id)
    query = query.order_by(ProjectRow.archived_at.is_not(None), ProjectRow.title, ProjectRow.id)
    return [_project(row) for row in session.scalars(query)]


def add_project(session: Session, slug: str, title: str, *, first_gid: int, lab_id: int | None = None) -> Project:
    """Add a project without members."""
    row = ProjectRow(
        slug=slug,
        title=title,
        gid=next_gid(session, first_gid),
        owner_id=None,
        lab_id=lab_id,
        version=1,
        created_at=datetime.now(UTC),
    )
    session.add(row)
    session.flush()
    return _project(row)


def add_member(session: Session, project_id: int, person_id: int, *, lead: bool = False) -> None:
    """Make a person a member of a project; nothing changes for one who is."""
    if session.get(MemberRow, (project_id, person_id)) is None:
        session.add(MemberRow(project_id=project_id, person_id=person_id, lead=lead))
        session.flush()


def set_title(session: Session, project_id: int, title: str) -> Project:
    """Change a project's title; its version goes up."""
    row = session.get_one(ProjectRow, project_id)
    row.title, row.version = title, row.version + 1
    session.flush()
    return _project(row)


def set_limits(session: Session, project_id: int, limits: ProjectLimits) -> Project:
    """Change what a project's servers may hold together and where they may reach; its version goes up."""
    row = session.get_one(ProjectRow, project_id)
    row.max_memory_bytes, row.max_cpus, row.egress = limits.max_memory_bytes, limits.max_cpus, limits.egress
    row.version += 1
    session.flush()
    return _project(row)


def set_archived(session: Session, project_id: int, *, archived: bool) -> Project:
    """Close a project, or open it again; its version goes up."""
    row = session.get_one(ProjectRow, project_id)
    row.archived_at, row.version = datetime.now(UTC) if archived else None, row.version + 1
    session.flush()
    return _project(row)


def members(session: Session, project_id: int) -> list[Member]:
    """Return who is in a project: leads first, then by name."""
    query = (
        select(MemberRow.person_id, MemberRow.lead)
        .join(PersonRow, PersonRow.id == MemberRow.person_id)
        .where(MemberRow.project_id == project_id)
        .order_by(MemberRow.lead.desc(), PersonRow.name)
    )
    return [Member(get_person(session, person_id), lead) for person_id, lead in session.execute(query).all()]


def count_members(session: Session, project_id: int) -> int:
    """Return how many people are in a project."""
    query = select(func.count()).select_from(MemberRow).where(MemberRow.project_id == project_id)
    return session.scalar(query) or 0


def find_member(session: Session, project_id: int, person_id: int) -> Member | None:
    """Return a person's membership, if they are in the project."""
    row = session.get(MemberRow, (project_id, person_id))
    return Member(get_person(session, person_id), row.lead) if row else None


def set_member_lead(session: Session, project_id: int, person_id: int, *, lead: bool) -> None:
    """Give or take the lead of a project; the person is in it."""
    session.get_one(MemberRow, (project_id, person_id)).lead = lead
    session.flush()


def drop_member(session: Session, project_id: int, person_id: int) -> None:
    """Take a person out of a project; the person is in it."""
    session.delete(session.get_one(MemberRow, (project_id, person_id)))
    session.flush()


def outsiders(session: Session, servers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the servers whose person is not in the project, or switched off: they are to be stopped.

    One of an archived project goes on: only nothing new starts there.

    Args:
        session: A session.
        servers: Account name and project slug of what runs.
    """
    query = (
        select(PersonRow.name, ProjectRow.slug)
        .join(MemberRow, MemberRow.person_id == PersonRow.id)
        .join(ProjectRow, ProjectRow.id == MemberRow.project_id)
        .where(~PersonRow.disabled)
    )
    inside = {(name, slug) for name, slug in session.execute(query).all()}
    return [server for server in servers if server not in inside]


def projects_of(session: Session, person_id: int) -> list[Project]:
    """Return the projects that a person is in: shared ones by title, then archived ones, then the personal one."""
    query = (
        select(ProjectRow)
        .join(MemberRow, MemberRow.project_id == ProjectRow.id)
        .where(MemberRow.person_id == person_id)
        .order_by(ProjectRow.owner_id.is_not(None), ProjectRow.archived_at.is_not(None), ProjectRow.title)
    )
    return [_project(row) for row in session.scalars(query)]


def is_member(session: Session, project_id: int, person_id: int) -> bool:
    """Return whether a person is in a project."""
    return session.get(MemberRow, (project_id, person_id)) is not None


def _project(row: ProjectRow) -> Project:
    return Project(**{name: getattr(row, name) for name in Project.__dataclass_fields__})
