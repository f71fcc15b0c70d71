"""What labs and projects may have of the GPUs, as it was set: always, and for a time."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from bancada_hub.store.models import LabRow, ProjectRow
from bancada_hub.store.rule_models import GpuRuleRow

WITHIN_S = 14_400.0


@dataclass(frozen=True)
class LabShare:
    """What a lab's projects may have together.

    Args:
        max_gpus: Most cards at once; None is no ceiling.
        gpu_weight: The lab's share of what may be borrowed, against other labs.
    """

    max_gpus: int | None = None
    gpu_weight: float = 1.0


@dataclass(frozen=True)
class ProjectShare:
    """What a project may have.

    Args:
        max_gpus: Most cards at once; None is no limit of its own.
        max_person_gpus: Most cards at once for each person in it; None is no limit.
        gpu_guarantee: Cards that it gets whenever it asks.
        gpu_within_s: How soon it gets them.
        gpu_memory_bytes: Least memory of the guaranteed cards; 0 for any.
        gpu_weight: Its share of what may be borrowed, against the lab's other projects.
    """

    max_gpus: int | None = None
    max_person_gpus: int | None = None
    gpu_guarantee: int = 0
    gpu_within_s: float = WITHIN_S
    gpu_memory_bytes: int = 0
    gpu_weight: float = 1.0


@dataclass(frozen=True)
class NewRule:
    """A change that holds for a time, of one project or one lab; what is None stays as it is.

    Args:
        project_id: The project, or None.
        lab_id: The lab, or None.
        from_s: Since when, in seconds since 1970; None for always.
        until_s: Until when; None for always.
        days: Days of the week as digits, Monday is 0; None for all, or where there are no hours.
        from_minute: Minute of the day at which its hours begin; None for the whole day.
        minutes: How long the hours last.
        guarantee: Guaranteed cards.
        max_gpus: The project's limit, or the lab's ceiling.
        max_person_gpus: The limit of each person in the project.
        weight: The weight.
        note: What for, for people.
    """

    project_id: int | None = None
    lab_id: int | None = None
    from_s: float | None = None
    until_s: float | None = None
    days: str | None = None
    from_minute: int | None = None
    minutes: int | None = None
    guarantee: int | None = None
    max_gpus: int | None = None
    max_person_gpus: int | None = None
    weight: float | None = None
    note: str = ""


@dataclass(frozen=True)
class StoredRule:
    """A rule that is set: `new`, with its number."""

    id: int
    new: NewRule


def set_lab_share(session: Session, lab_id: int, share: LabShare) -> None:
    """Change what a lab's projects may have together; its version goes up."""
    row = session.get_one(LabRow, lab_id)
    row.max_gpus, row.gpu_weight, row.version = share.max_gpus, share.gpu_weight, row.version + 1
    session.flush()


def set_project_share(session: Session, project_id: int, share: ProjectShare) -> None:
    """Change what a project may have; its version goes up."""
    row = session.get_one(ProjectRow, project_id)
    for name in ProjectShare.__dataclass_fields__:
        setattr(row, name, getattr(share, name))
    row.version += 1
    session.flush()


def rules(session: Session) -> list[StoredRule]:
    """Return all that is set for a time, in the order in which it was set."""
    return [_rule(row) for row in session.scalars(select(GpuRuleRow).order_by(GpuRuleRow.id))]


def rules_of_lab(session: Session, lab_id: int) -> list[StoredRule]:
    """Return what is set for a time of a lab and its projects."""
    own = select(ProjectRow.id).where(ProjectRow.lab_id == lab_id)
    wanted = or_(GpuRuleRow.lab_id == lab_id, GpuRuleRow.project_id.in_(own))
    return [_rule(row) for row in session.scalars(select(GpuRuleRow).where(wanted).order_by(GpuRuleRow.id))]


def find_rule(session: Session, rule_id: int) -> StoredRule | None:
    """Return a rule, if it is still set."""
    row = session.get(GpuRuleRow, rule_id)
    return _rule(row) if row else None


def add_rule(session: Session, new: NewRule) -> int:
    """Set a rule; returns its number."""
    row = GpuRuleRow(
        **{name: getattr(new, name) for name in NewRule.__dataclass_fields__}, created_at=datetime.now(UTC)
    )
    session.add(row)
    session.flush()
    return row.id


def drop_rule(session: Session, rule_id: int) -> None:
    """Take a rule away."""
    session.delete(session.get_one(GpuRuleRow, rule_id))
    session.flush()


def _rule(row: GpuRuleRow) -> StoredRule:
    return StoredRule(row.id, NewRule(**{name: getattr(row, name) for name in NewRule.__dataclass_fields__}))
