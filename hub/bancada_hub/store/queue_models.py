"""The tables of the GPU queue: requests, leases, who sits on which card, and the queue's clock."""

from typing import Any

from sqlalchemy import JSON, Float, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from bancada_hub.store.models import Base, PersonRow, ProjectRow


class RequestRow(Base):
    """Somebody's request for cards. Rows are never deleted: their numbers are the order of asking."""

    __tablename__ = "gpu_requests"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey(ProjectRow.id))
    person_id: Mapped[int] = mapped_column(ForeignKey(PersonRow.id))
    shape: Mapped[dict[str, Any]] = mapped_column(JSON)
    on_grant: Mapped[str] = mapped_column(String(8))
    asked_s: Mapped[float] = mapped_column(Float)
    state: Mapped[str] = mapped_column(String(16), index=True)
    reason: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    closed_s: Mapped[float | None] = mapped_column(Float)


class LeaseRow(Base):
    """What a granted request holds; at most one for each request, ever."""

    __tablename__ = "gpu_leases"

    request_id: Mapped[int] = mapped_column(ForeignKey(RequestRow.id), primary_key=True, autoincrement=False)
    cards: Mapped[list[str]] = mapped_column(JSON)
    milli: Mapped[int] = mapped_column()
    granted_s: Mapped[float] = mapped_column(Float)
    ends_s: Mapped[float] = mapped_column(Float)
    claim_by_s: Mapped[float | None] = mapped_column(Float)
    backfill: Mapped[bool] = mapped_column()
    server: Mapped[str] = mapped_column(String(64), default="")
    ended_s: Mapped[float | None] = mapped_column(Float, index=True)
    renewed_s: Mapped[float | None] = mapped_column(Float)
    warned_for_s: Mapped[float | None] = mapped_column(Float)


class SeatRow(Base):
    """One place on a card, taken: the database itself refuses a second holder. Gone with the lease's end."""

    __tablename__ = "gpu_seats"

    card: Mapped[str] = mapped_column(String(80), primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    request_id: Mapped[int] = mapped_column(ForeignKey(LeaseRow.request_id))


class QueueRow(Base):
    """The one row of what the queue remembers: until when use is counted, everybody's use, and who was served when."""

    __tablename__ = "gpu_queue"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(default=0)
    at_s: Mapped[float] = mapped_column(Float, default=0.0)
    use: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    served: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
