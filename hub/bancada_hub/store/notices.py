"""Notices: what a person is to be told once, in whichever page of theirs is open."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from bancada_hub.store.models import NoticeRow

INFO, WARNING, ERROR = "info", "warning", "error"


@dataclass(frozen=True)
class NewNotice:
    """What is to be told.

    Args:
        text: One or two sentences; shown as text, never as markup.
        level: `info`, `warning` or `error`.
        action_label: The words of its one button; empty for none.
        action_url: Where that leads: a path of this site.
    """

    text: str
    level: str = INFO
    action_label: str = ""
    action_url: str = ""


@dataclass(frozen=True)
class Notice:
    """A notice to one person."""

    id: int
    person_id: int
    at: datetime
    level: str
    text: str
    action_label: str
    action_url: str
    seen_at: datetime | None


def add_notice(session: Session, person_id: int, new: NewNotice) -> Notice:
    """Keep a notice until the person has seen it.

    Raises:
        ValueError: Its button would leave this site.
    """
    leaves = not new.action_url.startswith("/") or new.action_url.startswith(("//", "/\\"))
    if new.action_url and leaves:
        msg = f"a notice's button leads to a path of this site, not to {new.action_url!r}"
        raise ValueError(msg)
    row = NoticeRow(
        person_id=person_id,
        at=datetime.now(UTC),
        level=new.level,
        text=new.text,
        action_label=new.action_label,
        action_url=new.action_url,
    )
    session.add(row)
    session.flush()
    return _notice(row)


def unseen_notices(session: Session, person_id: int, *, after_id: int = 0) -> list[Notice]:
    """Return what a person has not seen yet, the oldest first; only what came after one notice when named."""
    query = select(NoticeRow).where(
        NoticeRow.person_id == person_id, NoticeRow.seen_at.is_(None), NoticeRow.id > after_id
    )
    return [_notice(row) for row in session.scalars(query.order_by(NoticeRow.id))]


def latest_notice_id(session: Session) -> int:
    """Return the number of the newest notice to anybody; 0 when there is none."""
    return session.scalar(select(func.max(NoticeRow.id))) or 0


def mark_notice_seen(session: Session, person_id: int, notice_id: int) -> bool:
    """Record that a person saw a notice of theirs; returns whether it is theirs."""
    row = session.get(NoticeRow, notice_id)
    if row is None or row.person_id != person_id:
        return False
    row.seen_at = row.seen_at or datetime.now(UTC)
    session.flush()
    return True


def _notice(row: NoticeRow) -> Notice:
    return Notice(**{name: getattr(row, name) for name in Notice.__dataclass_fields__})
