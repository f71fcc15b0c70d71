"""The trace: who did what (audit), and what was granted to whom (ledger); appended in the transaction of the change.

Each audit row carries sha256 over its own fields and the hash of the row before it, so that a row that is altered,
removed or put in between shows. Rows cut off at the end do not show by themselves: an export keeps the last hash.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from bancada_hub.errors import LaunchRefused, PeopleError, Told, told
from bancada_hub.roles import Actor
from bancada_hub.store.database import Store
from bancada_hub.store.models import AuditRow, LedgerRow

DONE, REFUSED = "done", "refused"
BEGINNING = "0" * 64
BATCH = 500
LONGEST_ACTOR, LONGEST_SUBJECT, LONGEST_ORIGIN = 64, 120, 80


@dataclass(frozen=True)
class Entry:
    """What is to be put on record.

    Args:
        actor: Who.
        action: What: `project.create`, `person.disable`, ….
        subject: On what: `project:wheat`, `person:ana`, `lab:plants`.
        result: `done`, or `refused`.
        detail: More, as JSON; never a secret.
    """

    actor: Actor
    action: str
    subject: str
    result: str = DONE
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AuditEntry:
    """A row of the audit."""

    id: int
    at: datetime
    actor: str
    action: str
    subject: str
    origin: str
    result: str
    detail: dict[str, Any]
    previous_hash: str
    hash: str


@dataclass(frozen=True)
class NewLedgerEntry:
    """What was granted or spent.

    Args:
        kind: `membership.granted`, ….
        project_id: In which project.
        person_id: To or by whom.
        detail: More, as JSON.
    """

    kind: str
    project_id: int | None = None
    person_id: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Filter:
    """Which rows of the audit; an empty field fits all.

    Args:
        actor: Account name.
        action: Beginning of the action, such as `project.`.
        subject: The subject, whole.
        since: From this instant.
        before_id: Only rows before this one, for the next page.
        limit: How many at most.
    """

    actor: str = ""
    action: str = ""
    subject: str = ""
    since: datetime | None = None
    before_id: int | None = None
    limit: int = 100


@dataclass
class Change:
    """A change in the making: its transaction, and what the audit is to say of it."""

    session: Session
    detail: dict[str, Any] = field(default_factory=dict)


@contextmanager
def change(store: Store, actor: Actor, action: str, subject: str) -> Iterator[Change]:
    """Run one transaction that ends with its row in the audit; a refusal is put on record by itself.

    Args:
        store: The database.
        actor: Who asks.
        action: What, as in `Entry`.
        subject: On what, as in `Entry`.

    Yields:
        The session, and a dictionary for what the audit is to say beside.
    """
    with refusals(store, actor, action, subject), store.write() as session:
        made = Change(session)
        yield made
        audit(session, Entry(actor, action, subject, DONE, made.detail))


@contextmanager
def refusals(store: Store, actor: Actor, action: str, subject: str) -> Iterator[None]:
    """Put on record that something was refused; for what is looked at before a change, outside its transaction.

    Args:
        store: The database.
        actor: Who asks.
        action: What, as in `Entry`.
        subject: On what, as in `Entry`.
    """
    try:
        yield
    except (PeopleError, LaunchRefused) as refused:
        with store.write() as session:
            audit(session, Entry(actor, action, subject, REFUSED, {"why": refused.what}))
        raise


def audit(session: Session, entry: Entry) -> None:
    """Append a row to the audit, in the caller's writing transaction: writers take turns, so the chain has no fork."""
    last = session.scalar(select(AuditRow.hash).order_by(AuditRow.id.desc()).limit(1))
    row = AuditRow(
        at=datetime.now(UTC),
        actor=_storable(entry.actor.name)[:LONGEST_ACTOR],
        action=entry.action,
        subject=_storable(entry.subject)[:LONGEST_SUBJECT],
        origin=_storable(entry.actor.origin)[:LONGEST_ORIGIN],
        result=entry.result,
        detail={key: _storable(value) for key, value in entry.detail.items()},
        previous_hash=last or BEGINNING,
    )
    row.hash = _hash_of(row)
    session.add(row)
    session.flush()


def ledger(session: Session, new: NewLedgerEntry) -> None:
    """Append a row to the ledger, in the caller's writing transaction."""
    row = LedgerRow(
        at=datetime.now(UTC),
        project_id=new.project_id,
        person_id=new.person_id,
        kind=new.kind,
        detail=dict(new.detail),
    )
    session.add(row)
    session.flush()


def audit_entries(session: Session, wanted: Filter | None = None) -> list[AuditEntry]:
    """Return rows of the audit, the newest first."""
    wanted = wanted or Filter()
    query = select(AuditRow).order_by(AuditRow.id.desc()).limit(wanted.limit)
    if wanted.actor:
        query = query.where(AuditRow.actor == wanted.actor)
    if wanted.action:
        query = query.where(AuditRow.action.startswith(wanted.action, autoescape=True))
    if wanted.subject:
        query = query.where(AuditRow.subject == wanted.subject)
    if wanted.since:
        query = query.where(AuditRow.at >= wanted.since)
    if wanted.before_id is not None:
        query = query.where(AuditRow.id < wanted.before_id)
    return [_entry(row) for row in session.scalars(query)]


def last_change(session: Session, actions: tuple[str, ...], subject: str) -> AuditEntry | None:
    """Return the last time that one of these was done to this subject."""
    query = select(AuditRow).where(AuditRow.action.in_(actions), AuditRow.subject == subject, AuditRow.result == DONE)
    row = session.scalar(query.order_by(AuditRow.id.desc()).limit(1))
    return _entry(row) if row else None


def verify(session: Session) -> list[Told]:
    """Walk the whole chain.

    Returns:
        What is wrong, a sentence a row; empty when the chain is whole.
    """
    problems: list[Told] = []
    previous = BEGINNING
    for row in session.scalars(select(AuditRow).order_by(AuditRow.id).execution_options(yield_per=BATCH)):
        if row.previous_hash != previous:
            problems.append(
                told(
                    "Audit row %(id)s does not follow the row before it: one is missing or was put between.", id=row.id
                )
            )
        if row.hash != _hash_of(row):
            problems.append(told("Audit row %(id)s was altered after it was written.", id=row.id))
        previous = row.hash
    return problems


def _hash_of(row: AuditRow) -> str:
    fields = {
        "at": row.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "actor": row.actor,
        "action": row.action,
        "subject": row.subject,
        "origin": row.origin,
        "result": row.result,
        "detail": row.detail,
        "previous_hash": row.previous_hash,
    }
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _entry(row: AuditRow) -> AuditEntry:
    return AuditEntry(**{name: getattr(row, name) for name in AuditEntry.__dataclass_fields__})


def _storable(value: Any) -> Any:  # noqa: ANN401 - a value of JSON
    """Return text as every database can keep it: NUL and halves of characters become visible."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
