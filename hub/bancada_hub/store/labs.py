"""Labs and their leads."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from bancada_hub.store.gpu_rules import LabShare
from bancada_hub.store.models import LabLeadRow, LabRow
from bancada_hub.store.people import Person, people_where


@dataclass(frozen=True)
class LabLimits:
    """What the servers of a lab's projects may hold together; None is no limit of its own."""

    max_memory_bytes: int | None = None
    max_cpus: float | None = None


@dataclass(frozen=True)
class Lab:
    """A lab.

    `version` counts its changes, so that nobody overwrites what they have not read. What its servers hold together
    stays under `max_cpus` and `max_memory_bytes`, where they are set.
    """

    id: int
    slug: str
    title: str
    created_at: datetime
    archived_at: datetime | None
    max_cpus: float | None = None
    max_memory_bytes: int | None = None
    version: int = 1
    max_gpus: int | None = None
    gpu_weight: float = 1.0

    @property
    def limits(self) -> LabLimits:
        """What the servers of its projects may hold together."""
        return LabLimits(self.max_memory_bytes, self.max_cpus)

    @property
    def share(self) -> LabShare:
        """What its projects may have of the GPUs together."""
        return LabShare(self.max_gpus, self.gpu_weight)


def labs(session: Session) -> list[Lab]:
    """Return all labs by title, those in use first."""
    rows = session.scalars(select(LabRow).order_by(LabRow.archived_at.is_not(None), LabRow.title, LabRow.id))
    return [_lab(row) for row in rows]


def find_lab(session: Session, slug: str) -> Lab | None:
    """Return the lab of this slug, if there is one."""
    row = session.scalar(select(LabRow).where(LabRow.slug == slug))
    return _lab(row) if row else None


def get_lab(session: Session, lab_id: int) -> Lab:
    """Return the lab of this number, which exists."""
    return _lab(session.get_one(LabRow, lab_id))


def add_lab(session: Session, slug: str, title: str) -> Lab:
    """Add a lab without leads."""
    row = LabRow(slug=slug, title=title, created_at=datetime.now(UTC), version=1)
    session.add(row)
    session.flush()
    return _lab(row)


def set_lab_title(session: Session, lab_id: int, title: str) -> Lab:
    """Change a lab's title."""
    row = session.get_one(LabRow, lab_id)
    row.title, row.version = title, row.version + 1
    session.flush()
    return _lab(row)


def set_lab_limits(session: Session, lab_id: int, limits: LabLimits) -> Lab:
    """Change what the servers of a lab's projects may hold together; its version goes up."""
    row = session.get_one(LabRow, lab_id)
    row.max_memory_bytes, row.max_cpus = limits.max_memory_bytes, limits.max_cpus
    row.version += 1
    session.flush()
    return _lab(row)


def set_lab_archived(session: Session, lab_id: int, *, archived: bool) -> Lab:
    """Close a lab, or open it again."""
    row = session.get_one(LabRow, lab_id)
    row.archived_at = (row.archived_at or datetime.now(UTC)) if archived else None
    row.version += 1
    session.flush()
    return _lab(row)


def lab_leads(session: Session, lab_id: int) -> list[Person]:
    """Return a lab's leads by name."""
    return people_where(session, select(LabLeadRow.person_id).where(LabLeadRow.lab_id == lab_id))


def put_lab_lead(session: Session, lab_id: int, person_id: int) -> bool:
    """Make a person a lead of a lab; returns whether they were not one before."""
    if session.get(LabLeadRow, (lab_id, person_id)) is not None:
        return False
    session.add(LabLeadRow(lab_id=lab_id, person_id=person_id))
    session.flush()
    return True


def drop_lab_lead(session: Session, lab_id: int, person_id: int) -> bool:
    """Take the lead of a lab from a person; returns whether they had it."""
    row = session.get(LabLeadRow, (lab_id, person_id))
    if row is None:
        return False
    session.delete(row)
    session.flush()
    return True


def _lab(row: LabRow) -> Lab:
    return Lab(**{name: getattr(row, name) for name in Lab.__dataclass_fields__})
