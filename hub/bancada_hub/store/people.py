"""People and the numbers they get."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from bancada_hub.store.models import MemberRow, PersonRow, ProjectRow


@dataclass(frozen=True)
class Person:
    """A person with an account.

    `signed_out_at` is when all their sessions and tokens were ended last, `hub_signed_out_at` up to when the hub has
    done it.
    """

    id: int
    name: str
    uid: int
    password_hash: str | None
    admin: bool
    disabled: bool
    created_at: datetime
    display_name: str
    language: str
    theme: str
    must_change_password: bool
    failed_sign_ins: int
    locked_until: datetime | None
    signed_out_at: datetime | None
    hub_signed_out_at: datetime | None

    @property
    def shown_name(self) -> str:
        """What pages call them."""
        return self.display_name or self.name

    @property
    def sign_out_due(self) -> bool:
        """Whether the hub has still to end their sessions."""
        done = self.hub_signed_out_at
        return self.signed_out_at is not None and (done is None or done < self.signed_out_at)


@dataclass(frozen=True)
class FirstNumbers:
    """Where uids and gids start."""

    uid: int
    gid: int


@dataclass(frozen=True)
class NewPassword:
    """A password that is set, as its hash.

    Args:
        hash: Argon2id.
        must_change: Whether the person has to choose their own before anything else.
    """

    hash: str
    must_change: bool


def people(session: Session) -> list[Person]:
    """Return everybody, by name."""
    return [_person(row) for row in session.scalars(select(PersonRow).order_by(PersonRow.name))]


def find_person(session: Session, name: str) -> Person | None:
    """Return the person of this name, if there is one."""
    row = session.scalar(select(PersonRow).where(PersonRow.name == name))
    return _person(row) if row else None


def add_person(session: Session, name: str, password_hash: str | None, *, admin: bool, first: FirstNumbers) -> Person:
    """Add a person and their personal project; the uid is new for ever, also when the person is disabled later."""
    row = PersonRow(
        name=name,
        uid=next_uid(session, first.uid),
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


def get_person(session: Session, person_id: int) -> Person:
    """Return the person of this number, who exists."""
    return _person(session.get_one(PersonRow, person_id))


def people_where(session: Session, ids: Select[Any]) -> list[Person]:
    """Return the people whose numbers a query gives, by name."""
    query = select(PersonRow).where(PersonRow.id.in_(ids)).order_by(PersonRow.name)
    return [_person(row) for row in session.scalars(query)]


def admins(session: Session) -> list[Person]:
    """Return those who run the site and can sign in, by name."""
    return people_where(session, select(PersonRow.id).where(PersonRow.admin, ~PersonRow.disabled))


def set_password(session: Session, person_id: int, new: NewPassword) -> None:
    """Replace a person's password; what was counted against the old one is forgotten."""
    row = session.get_one(PersonRow, person_id)
    row.password_hash, row.must_change_password = new.hash, new.must_change
    row.failed_sign_ins, row.locked_until = 0, None
    session.flush()


def sign_out(session: Session, person_id: int) -> None:
    """Let all of a person's sessions and tokens be over: the hub ends them."""
    session.get_one(PersonRow, person_id).signed_out_at = datetime.now(UTC)
    session.flush()


def to_sign_out(session: Session) -> list[Person]:
    """Return those whose sessions the hub has still to end."""
    done = PersonRow.hub_signed_out_at
    query = select(PersonRow).where(
        PersonRow.signed_out_at.is_not(None), done.is_(None) | (done < PersonRow.signed_out_at)
    )
    return [_person(row) for row in session.scalars(query)]


def note_signed_out(session: Session, person_id: int, at: datetime) -> None:
    """Note that the hub has ended all sessions from before an instant."""
    session.get_one(PersonRow, person_id).hub_signed_out_at = at
    session.flush()


def set_disabled(session: Session, person_id: int, *, disabled: bool) -> Person:
    """Switch an account off or on."""
    row = session.get_one(PersonRow, person_id)
    row.disabled = disabled
    session.flush()
    return _person(row)


def set_admin(session: Session, person_id: int, *, admin: bool) -> Person:
    """Let a person run the site, or no longer."""
    row = session.get_one(PersonRow, person_id)
    row.admin = admin
    session.flush()
    return _person(row)


def set_display_name(session: Session, person_id: int, display_name: str) -> None:
    """Set what pages call a person."""
    session.get_one(PersonRow, person_id).display_name = display_name
    session.flush()


def set_look(session: Session, person_id: int, *, language: str, theme: str) -> None:
    """Set a person's language and theme; empty follows the browser."""
    row = session.get_one(PersonRow, person_id)
    row.language, row.theme = language, theme
    session.flush()


def count_sign_in(session: Session, person_id: int, *, failed: int, locked_until: datetime | None) -> None:
    """Set how many sign-ins in a row failed, and until when none is let in."""
    row = session.get_one(PersonRow, person_id)
    row.failed_sign_ins, row.locked_until = failed, locked_until
    session.flush()


def next_uid(session: Session, first: int) -> int:
    """Return a uid that no person ever had: rows are never deleted."""
    return max((session.scalar(select(func.max(PersonRow.uid))) or first - 1) + 1, first)


def next_gid(session: Session, first: int) -> int:
    """Return a gid that no project ever had."""
    return max((session.scalar(select(func.max(ProjectRow.gid))) or first - 1) + 1, first)


def _person(row: PersonRow) -> Person:
    return Person(**{name: getattr(row, name) for name in Person.__dataclass_fields__})
