"""What every server holds of the machine, from the instant its start is admitted until that start has ended.

A row stands for a start, not for a container: it is written in the transaction that decides about the start, so that
two starts at once never both get what is left. Whoever ends a start takes its row away; `launch.reconcile` takes away
those of starts that ended without anybody seeing it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from bancada_hub.roles import Subject
from bancada_hub.store.database import Store
from bancada_hub.store.models import MemberRow, PersonRow, ProjectRow, ServerRow


@dataclass(frozen=True)
class NewServer:
    """A start that is to hold something.

    Args:
        start_id: The start, as on the container's label.
        person_id: Whose server.
        project_id: Its project.
        kind: `work` or `rescue`.
        size: `s`, `m` or `l`.
        memory_bytes: Its memory limit.
        cpus: Its CPU limit, in cores.
    """

    start_id: str
    person_id: int
    project_id: int
    kind: str
    size: str
    memory_bytes: int
    cpus: float


@dataclass(frozen=True)
class HeldServer(NewServer):
    """A start that holds something, with the names that people know it by. `lab_id` is None in a personal project."""

    begun_at: datetime
    person_name: str
    display_name: str
    project_slug: str
    project_title: str
    lab_id: int | None
    personal: bool

    @property
    def subject(self) -> Subject:
        """What `bancada_hub.roles.may` is asked about."""
        return Subject(self.lab_id, self.project_id, self.personal)


def claim(session: Session, server: NewServer) -> None:
    """Write down what a start holds, and remember its size for the member's next start.

    Whatever an earlier start of the same person in the same project held is given back: there is one server of
    theirs at any time, and its earlier containers have been removed by then.

    Args:
        session: A writing session, in which it was decided that the start may hold this.
        server: The start.
    """
    release_of(session, server.person_id, server.project_id)
    session.add(
        ServerRow(
            start_id=server.start_id,
            person_id=server.person_id,
            project_id=server.project_id,
            kind=server.kind,
            size=server.size,
            memory_bytes=server.memory_bytes,
            cpus=server.cpus,
            begun_at=datetime.now(UTC),
        )
    )
    member = session.get(MemberRow, (server.project_id, server.person_id))
    if member is not None:
        member.last_size = server.size
    session.flush()


def release(session: Session, start_id: str) -> None:
    """Give back whatever a start holds; nothing changes for one that holds nothing."""
    session.execute(delete(ServerRow).where(ServerRow.start_id == start_id))


def release_of(session: Session, person_id: int, project_id: int) -> None:
    """Give back whatever a person's server in a project holds."""
    mine = (ServerRow.person_id == person_id) & (ServerRow.project_id == project_id)
    session.execute(delete(ServerRow).where(mine))


def memory_of(session: Session, start_id: str) -> int | None:
    """Return the memory limit of a start; None when it holds nothing."""
    row = session.get(ServerRow, start_id)
    return row.memory_bytes if row else None


def held(session: Session) -> list[HeldServer]:
    """Return all starts that hold something, the oldest first."""
    query = (
        select(ServerRow, PersonRow, ProjectRow)
        .join(PersonRow, PersonRow.id == ServerRow.person_id)
        .join(ProjectRow, ProjectRow.id == ServerRow.project_id)
        .order_by(ServerRow.begun_at, ServerRow.start_id)
    )
    return [_held(server, person, project) for server, person, project in session.execute(query).all()]


def remember_size(store: Store, project_id: int, person_id: int, size: str) -> None:
    """Remember a size for a member's next start, which begins by itself once a GPU is granted."""
    with store.write() as session:
        member = session.get(MemberRow, (project_id, person_id))
        if member is not None:
            member.last_size = size


def last_size(session: Session, project_id: int, person_id: int) -> str:
    """Return the size that a member last started with in a project; empty before the first start."""
    member = session.get(MemberRow, (project_id, person_id))
    return member.last_size if member else ""


def _held(server: ServerRow, person: PersonRow, project: ProjectRow) -> HeldServer:
    return HeldServer(
        start_id=server.start_id,
        person_id=server.person_id,
        project_id=server.project_id,
        kind=server.kind,
        size=server.size,
        memory_bytes=server.memory_bytes,
        cpus=server.cpus,
        begun_at=server.begun_at,
        person_name=person.name,
        display_name=person.display_name,
        project_slug=project.slug,
        project_title=project.title,
        lab_id=project.lab_id,
        personal=project.owner_id is not None,
    )
