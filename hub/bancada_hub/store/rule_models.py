"""The table of GPU rules that hold for a time."""

from datetime import datetime

from sqlalchemy import Float, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from bancada_hub.store.models import Base, LabRow, Moment, ProjectRow


class GpuRuleRow(Base):
    """A change of what one project or one lab may have that holds for a time; an empty column changes nothing."""

    __tablename__ = "gpu_rules"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int | None] = mapped_column(ForeignKey(ProjectRow.id))
    lab_id: Mapped[int | None] = mapped_column(ForeignKey(LabRow.id))
    from_s: Mapped[float | None] = mapped_column(Float)
    until_s: Mapped[float | None] = mapped_column(Float)
    days: Mapped[str | None] = mapped_column(String(7))
    from_minute: Mapped[int | None] = mapped_column()
    minutes: Mapped[int | None] = mapped_column()
    guarantee: Mapped[int | None] = mapped_column()
    max_gpus: Mapped[int | None] = mapped_column()
    max_person_gpus: Mapped[int | None] = mapped_column()
    weight: Mapped[float | None] = mapped_column(Float)
    note: Mapped[str] = mapped_column(String(200), default="")
    created_at: Mapped[datetime] = mapped_column(Moment)
