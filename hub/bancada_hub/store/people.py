"""People and the numbers they get."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from bancada_hub.store.models import MemberRow, PersonRow, ProjectRow


@dataclass(frozen=True)
class Person:
    """A person with an account."""

    id: int
    name: str
    uid: int
    password_hash: str | None
    admin: bool
    disabled: bool
    created_at: datetime


@dataclass(frozen=True)
class FirstNumbers:
    """Where uids and gids start."""

    uid: int
    gid: int


def people(session: Session) -> list[Person]:
    """Return everybody, by name."""
    return [_person(row) for row in session.scalars(select(PersonRow).order_by(PersonRow.name))]


def find_person(session: Session, name: str) -> Person | None:
    """Return the person of this name, if there is one."""
    row = session.scalar(select(PersonRow).where(PersonRow.name == name))
    return _person(row) if row else None


def add_person(session: Session, name: str, password_hash: str | None, *, admin: bool, first: FirstNumbers) -> Person:
    """Add a person and their personal project; the uid is new for ever, also when the person is disabled later."""
    uid = (session.scalar(select(func.max(PersonRow.uid))) or first.uid - 1) + 1
    row = PersonRow(
        name=name,
        uid=max(uid, first.uid),
        password_hash=password_hash,
        admin=admin,
        disabled=False,
        created_at=datetime.now(UTC),
    )
    session.add(row)
    session.flush()
    personal = ProjectRow(
        slug=f"me-{secrets.token_hex(4)}",
        title="Personal",
        gid=next_gid(session, first.gid),
        owner_id=row.id,
        created_at=datetime.now(UTC),
    )
    session.add(personal)
    session.flush()
    session.add(MemberRow(project_id=personal.id, person_id=row.id, lead=True))
    session.flush()
    return _person(row)


def set_password(session: Session, person_id: int, password_hash: str) -> None:
    """Replace a person's password."""
    session.get_one(PersonRow, person_id).password_hash = password_hash


def next_gid(session: Session, first: int) -> int:
    """Return a gid that no project ever had."""
    return max((session.scalar(select(func.max(ProjectRow.gid))) or first - 1) + 1, first)


def _person(row: PersonRow) -> Person:
    return Person(row.id, row.name, row.uid, row.password_hash, row.admin, row.disabled, row.created_at)
