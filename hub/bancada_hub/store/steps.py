"""The steps of a site's preparation, for the pages that show them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from bancada_hub.store.models import StepRow

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
SILENCE = timedelta(seconds=30)
"""A running step whose worker has not written for this long has lost its worker; it writes every 5 s at least."""


@dataclass(frozen=True)
class Step:
    """One step; `expected_s` is a rough guess in seconds, used for the time left."""

    key: str
    position: int
    title: str
    state: str
    detail: str
    expected_s: float
    started_at: datetime | None
    ended_at: datetime | None
    beat_at: datetime | None

    def stalled(self, now: datetime) -> bool:
        """Return whether this step says that it runs although nobody works on it."""
        return self.state == RUNNING and self.beat_at is not None and now - self.beat_at > SILENCE


@dataclass(frozen=True)
class NewStep:
    """A step that will be taken."""

    key: str
    title: str
    expected_s: float


def plan_steps(session: Session, steps: list[NewStep]) -> None:
    """Replace the list of steps by these, all waiting."""
    session.execute(delete(StepRow))
    for position, step in enumerate(steps, start=1):
        session.add(
            StepRow(
                key=step.key,
                position=position,
                title=step.title,
                state=WAITING,
                detail="",
                expected_s=step.expected_s,
            )
        )
    session.flush()


def begin_step(session: Session, key: str) -> None:
    """Record that a step has begun."""
    row = session.get_one(StepRow, key)
    row.state, row.detail, row.ended_at = RUNNING, "", None
    row.started_at = row.beat_at = datetime.now(UTC)


def beat_step(session: Session, key: str, detail: str) -> None:
    """Record that a step goes on, and what it does."""
    row = session.get_one(StepRow, key)
    row.detail, row.beat_at = detail[:400], datetime.now(UTC)


def end_step(session: Session, key: str, *, error: str = "") -> None:
    """Record that a step is done, or why it failed."""
    row = session.get_one(StepRow, key)
    row.state, row.detail = (FAILED, error[:400]) if error else (DONE, "")
    row.ended_at = datetime.now(UTC)


def steps(session: Session) -> list[Step]:
    """Return all steps in order."""
    rows = session.scalars(select(StepRow).order_by(StepRow.position))
    return [Step(**{name: getattr(row, name) for name in Step.__dataclass_fields__}) for row in rows]
