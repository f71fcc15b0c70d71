"""The tables of the machine's cards: which there were, what administrators decided about each, and what failed."""

from typing import Any

from sqlalchemy import JSON, BigInteger, Float, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from bancada_hub.store.models import Base, LabRow, ProjectRow


class CardRow(Base):
    """A card that was seen, or that an administrator marked; MIG instances have a row only once they are marked."""

    __tablename__ = "gpu_cards"

    uuid: Mapped[str] = mapped_column(String(80), primary_key=True)
    source: Mapped[str] = mapped_column(String(16))
    whole: Mapped[bool] = mapped_column()
    model: Mapped[str] = mapped_column(String(120), default="")
    memory_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    first_s: Mapped[float] = mapped_column(Float)
    out: Mapped[bool] = mapped_column(default=False)
    tenants: Mapped[int] = mapped_column(default=1)
    project_id: Mapped[int | None] = mapped_column(ForeignKey(ProjectRow.id))
    lab_id: Mapped[int | None] = mapped_column(ForeignKey(LabRow.id))
    reason: Mapped[str] = mapped_column(String(200), default="")
    marked_by: Mapped[str] = mapped_column(String(64), default="")
    marked_s: Mapped[float | None] = mapped_column(Float)


class IncidentRow(Base):
    """A failure of a card, or of all of them, from its detection to its recovery.

    `open_key` is unique while it is open and nothing afterwards: the database itself refuses a second one of a kind.
    """

    __tablename__ = "gpu_incidents"

    id: Mapped[int] = mapped_column(primary_key=True)
    card: Mapped[str] = mapped_column(String(80), index=True)
    cause: Mapped[str] = mapped_column(String(16))
    words: Mapped[dict[str, Any]] = mapped_column(JSON)
    began_s: Mapped[float] = mapped_column(Float)
    ended_s: Mapped[float | None] = mapped_column(Float, index=True)
    open_key: Mapped[str | None] = mapped_column(String(120), unique=True)
    closed_by: Mapped[str] = mapped_column(String(64), default="")
    held: Mapped[list[list[int]]] = mapped_column(JSON)
    detail: Mapped[dict[str, Any]] = mapped_column(JSON)
