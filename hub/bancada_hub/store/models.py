"""The tables. Rows never leave the store: repositories hand out frozen values."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Float, ForeignKey, MetaData, String, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

SCHEMA = "bancada"
"""The schema in PostgreSQL; SQLite has none, and the store maps it away there."""


class Moment(TypeDecorator[datetime]):
    """An instant in UTC; SQLite forgets the zone, so it is put back when read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: object) -> datetime | None:
        """Refuse an instant without a zone."""
        if value is not None and value.tzinfo is None:
            msg = "an instant needs a time zone"
            raise ValueError(msg)
        return value

    def process_result_value(self, value: datetime | None, dialect: object) -> datetime | None:
        """Give the instant its zone."""
        if value is not None and value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        return value


class Base(DeclarativeBase):
    """All tables, with names for their constraints so that migrations can address them."""

    metadata = MetaData(
        schema=SCHEMA,
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        },
    )


class PersonRow(Base):
    """A person with an account. Rows are never deleted, so that a uid is never given twice."""

    __tablename__ = "people"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    uid: Mapped[int] = mapped_column(unique=True)
    password_hash: Mapped[str | None] = mapped_column(String(256))
    admin: Mapped[bool] = mapped_column(default=False)
    disabled: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(Moment)
    display_name: Mapped[str] = mapped_column(String(80), default="")
    language: Mapped[str] = mapped_column(String(8), default="")
    theme: Mapped[str] = mapped_column(String(16), default="")
    must_change_password: Mapped[bool] = mapped_column(default=False)
    failed_sign_ins: Mapped[int] = mapped_column(default=0)
    locked_until: Mapped[datetime | None] = mapped_column(Moment)
    signed_out_at: Mapped[datetime | None] = mapped_column(Moment)
    hub_signed_out_at: Mapped[datetime | None] = mapped_column(Moment)


class LabRow(Base):
    """One or more projects with leads of their own. Rows are never deleted."""

    __tablename__ = "labs"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(24), unique=True)
    title: Mapped[str] = mapped_column(String(80))
    created_at: Mapped[datetime] = mapped_column(Moment)
    archived_at: Mapped[datetime | None] = mapped_column(Moment)
    max_cpus: Mapped[float | None] = mapped_column(Float)
    max_memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    version: Mapped[int] = mapped_column(default=1)
    max_gpus: Mapped[int | None] = mapped_column()
    gpu_weight: Mapped[float] = mapped_column(Float, default=1.0)


class LabLeadRow(Base):
    """Who leads which lab."""

    __tablename__ = "lab_leads"

    lab_id: Mapped[int] = mapped_column(ForeignKey(LabRow.id), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey(PersonRow.id), primary_key=True)


class ProjectRow(Base):
    """A project; personal ones have an owner and no lab. Rows are never deleted, so that a gid is never given twice."""

    __tablename__ = "projects"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(24), unique=True)
    title: Mapped[str] = mapped_column(String(80))
    gid: Mapped[int] = mapped_column(unique=True)
    owner_id: Mapped[int | None] = mapped_column(ForeignKey(PersonRow.id))
    created_at: Mapped[datetime] = mapped_column(Moment)
    lab_id: Mapped[int | None] = mapped_column(ForeignKey(LabRow.id))
    archived_at: Mapped[datetime | None] = mapped_column(Moment)
    version: Mapped[int] = mapped_column(default=1)
    max_cpus: Mapped[float | None] = mapped_column(Float)
    max_memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    egress: Mapped[str] = mapped_column(String(8), default="open")
    max_gpus: Mapped[int | None] = mapped_column()
    max_person_gpus: Mapped[int | None] = mapped_column()
    gpu_guarantee: Mapped[int] = mapped_column(default=0)
    gpu_within_s: Mapped[float] = mapped_column(Float, default=14_400.0)
    gpu_memory_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    gpu_weight: Mapped[float] = mapped_column(Float, default=1.0)


class MemberRow(Base):
    """Who is in which project; `lead` members run it."""

    __tablename__ = "members"

    project_id: Mapped[int] = mapped_column(ForeignKey(ProjectRow.id), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey(PersonRow.id), primary_key=True)
    lead: Mapped[bool] = mapped_column(default=False)
    last_size: Mapped[str] = mapped_column(String(4), default="")


class ServerRow(Base):
    """What one start holds of the machine; a person has at most one server in a project."""

    __tablename__ = "servers"
    __table_args__ = (UniqueConstraint("project_id", "person_id"),)

    start_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey(PersonRow.id))
    project_id: Mapped[int] = mapped_column(ForeignKey(ProjectRow.id))
    kind: Mapped[str] = mapped_column(String(16))
    size: Mapped[str] = mapped_column(String(4))
    memory_bytes: Mapped[int] = mapped_column(BigInteger)
    cpus: Mapped[float] = mapped_column(Float)
    begun_at: Mapped[datetime] = mapped_column(Moment)


class ServerEndRow(Base):
    """How a person's last server of a project ended, when it was not they who stopped it; until the next start."""

    __tablename__ = "server_ends"

    project_id: Mapped[int] = mapped_column(ForeignKey(ProjectRow.id), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey(PersonRow.id), primary_key=True)
    at: Mapped[datetime] = mapped_column(Moment)
    cause: Mapped[str] = mapped_column(String(16))
    status: Mapped[int] = mapped_column(default=0)
    memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    by: Mapped[str] = mapped_column(String(120), default="")


class ImageRow(Base):
    """A curated environment; its revisions are what was built of it."""

    __tablename__ = "images"

    key: Mapped[str] = mapped_column(String(40), primary_key=True)
    title: Mapped[str] = mapped_column(String(80))
    purpose: Mapped[str] = mapped_column(String(400))


class RevisionRow(Base):
    """One built image, named by its config digest (for the process engine: by its environment's key)."""

    __tablename__ = "revisions"
    __table_args__ = (UniqueConstraint("image_key", "digest"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    image_key: Mapped[str] = mapped_column(ForeignKey(ImageRow.key))
    digest: Mapped[str] = mapped_column(String(80))
    tag: Mapped[str] = mapped_column(String(128))
    lower: Mapped[str] = mapped_column(String(200))
    server_environment: Mapped[str] = mapped_column(String(200))
    spec_hash: Mapped[str] = mapped_column(String(64))
    lock_hash: Mapped[str] = mapped_column(String(64))
    python: Mapped[str] = mapped_column(String(16))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime] = mapped_column(Moment)


class StepRow(Base):
    """One step of the site's preparation, as pages and terminals show it."""

    __tablename__ = "preparation_steps"

    key: Mapped[str] = mapped_column(String(40), primary_key=True)
    position: Mapped[int] = mapped_column()
    title: Mapped[str] = mapped_column(String(120))
    state: Mapped[str] = mapped_column(String(16))
    detail: Mapped[str] = mapped_column(String(400), default="")
    expected_s: Mapped[float] = mapped_column(Float)
    started_at: Mapped[datetime | None] = mapped_column(Moment)
    ended_at: Mapped[datetime | None] = mapped_column(Moment)
    beat_at: Mapped[datetime | None] = mapped_column(Moment)


class OverlayRow(Base):
    """Who holds an overlay's upper directory: at most one server at any time."""

    __tablename__ = "overlays"
    __table_args__ = (UniqueConstraint("project_id", "person_id", "base"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey(ProjectRow.id))
    person_id: Mapped[int] = mapped_column(ForeignKey(PersonRow.id))
    base: Mapped[str] = mapped_column(String(80))
    held_by: Mapped[str | None] = mapped_column(String(64))
    held_since: Mapped[datetime | None] = mapped_column(Moment)


class AuditRow(Base):
    """One change, or refusal of one; each row's hash covers the one before it, so that none can be altered unseen."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(Moment)
    actor: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(40))
    subject: Mapped[str] = mapped_column(String(120))
    origin: Mapped[str] = mapped_column(String(80))
    result: Mapped[str] = mapped_column(String(16))
    detail: Mapped[dict[str, Any]] = mapped_column(JSON)
    previous_hash: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64), unique=True)


class LedgerRow(Base):
    """What was granted to, or spent by, whom in which project; append only."""

    __tablename__ = "ledger"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(Moment)
    project_id: Mapped[int | None] = mapped_column(ForeignKey(ProjectRow.id))
    person_id: Mapped[int | None] = mapped_column(ForeignKey(PersonRow.id))
    kind: Mapped[str] = mapped_column(String(40))
    detail: Mapped[dict[str, Any]] = mapped_column(JSON)


class NoticeRow(Base):
    """Something that a person is to be told, once, wherever they are: a page or JupyterLab."""

    __tablename__ = "notices"

    id: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey(PersonRow.id))
    at: Mapped[datetime] = mapped_column(Moment)
    level: Mapped[str] = mapped_column(String(16))
    text: Mapped[str] = mapped_column(Text)
    made_of: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    action_label: Mapped[str] = mapped_column(String(80), default="")
    action_url: Mapped[str] = mapped_column(String(400), default="")
    seen_at: Mapped[datetime | None] = mapped_column(Moment)
