"""Notices: what a person is to be told once, in whichever page of theirs is open.

A sentence made by `told` is kept with what it was made of, so that each page says it in its reader's language.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from bancada_hub.amounts import Bytes, Cores
from bancada_hub.errors import Told, told
from bancada_hub.roles import Actor
from bancada_hub.store.models import NoticeRow

INFO, WARNING, ERROR = "info", "warning", "error"


@dataclass(frozen=True)
class NewNotice:
    """What is to be told.

    Args:
        text: One or two sentences; shown as text, never as markup. One made by `told` is said in the reader's language.
        level: `info`, `warning` or `error`.
        action_label: The words of its one button, looked up like a told sentence without values; empty for none.
        action_url: Where that leads: a path of this site.
    """

    text: str
    level: str = INFO
    action_label: str = ""
    action_url: str = ""


@dataclass(frozen=True)
class Notice:
    """A notice to one person; `text` is a told sentence where it was one."""

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
        text=str(new.text),
        made_of=as_kept(new.text) if isinstance(new.text, Told) else None,
        action_label=new.action_label,
        action_url=new.action_url,
    )
    session.add(row)
    session.flush()
    return _notice(row)


def tell(session: Session, actor: Actor, to: Iterable[int], new: NewNotice) -> None:
    """Keep a notice for some people, without the one who did what it is about: they know.

    Args:
        session: The transaction of what was done.
        actor: Who did it.
        to: The people's numbers.
        new: The notice.
    """
    for person_id in to:
        if person_id != actor.person_id:
            add_notice(session, person_id, new)


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


def mark_notices_seen(session: Session, person_id: int, up_to_id: int) -> int:
    """Record that a person saw all notices of theirs up to one; returns how many that were."""
    unseen = (NoticeRow.person_id == person_id, NoticeRow.seen_at.is_(None), NoticeRow.id <= up_to_id)
    count = session.scalar(select(func.count()).where(*unseen)) or 0
    session.execute(update(NoticeRow).where(*unseen).values(seen_at=datetime.now(UTC)))
    return count


def _notice(row: NoticeRow) -> Notice:
    fields = {name: getattr(row, name) for name in Notice.__dataclass_fields__}
    if row.made_of:
        fields["text"] = from_kept(row.made_of)
    return Notice(**fields)


def as_kept(value: object) -> Any:  # noqa: ANN401 - any JSON
    """Return a told sentence or one of its values as JSON: sentences and amounts inside keep what they are."""
    if isinstance(value, Told):
        return {"template": value.template, "values": {name: as_kept(inner) for name, inner in value.values.items()}}
    if isinstance(value, Bytes):
        return {"bytes": int(value)}
    if isinstance(value, Cores):
        return {"cores": float(value)}
    return value if isinstance(value, str | int | float | None) else str(value)


def from_kept(kept: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return what `as_kept` was given."""
    if not isinstance(kept, dict):
        return kept
    if "bytes" in kept:
        return Bytes(kept["bytes"])
    if "cores" in kept:
        return Cores(kept["cores"])
    return told(kept["template"], **{name: from_kept(inner) for name, inner in kept["values"].items()})
