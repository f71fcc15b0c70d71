"""How many GPUs labs and projects may have, what is guaranteed to them, and what holds for a time only."""

import sqlalchemy as sa
from alembic import op

from bancada_hub.store.models import SCHEMA

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_PROJECT_COLUMNS = ("max_gpus", "max_person_gpus", "gpu_guarantee", "gpu_within_s", "gpu_memory_bytes", "gpu_weight")


def _schema() -> str | None:
    """Return the schema for what alters a table: unlike queries, these commands are not mapped for SQLite."""
    return None if op.get_bind().dialect.name == "sqlite" else SCHEMA


def upgrade() -> None:
    for table in ("labs", "projects"):
        op.add_column(table, sa.Column("max_gpus", sa.Integer), schema=_schema())
        weight = sa.Column("gpu_weight", sa.Float, nullable=False, server_default="1")
        op.add_column(table, weight, schema=_schema())
    op.add_column("projects", sa.Column("max_person_gpus", sa.Integer), schema=_schema())
    for name, kind, default in (
        ("gpu_guarantee", sa.Integer, "0"),
        ("gpu_within_s", sa.Float, "14400"),
        ("gpu_memory_bytes", sa.BigInteger, "0"),
    ):
        column = sa.Column(name, kind, nullable=False, server_default=default)
        op.add_column("projects", column, schema=_schema())
    op.create_table(
        "gpu_rules",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("project_id", sa.Integer),
        sa.Column("lab_id", sa.Integer),
        sa.Column("from_s", sa.Float),
        sa.Column("until_s", sa.Float),
        sa.Column("days", sa.String(7)),
        sa.Column("from_minute", sa.Integer),
        sa.Column("minutes", sa.Integer),
        sa.Column("guarantee", sa.Integer),
        sa.Column("max_gpus", sa.Integer),
        sa.Column("max_person_gpus", sa.Integer),
        sa.Column("weight", sa.Float),
        sa.Column("note", sa.String(200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_gpu_rules"),
        sa.ForeignKeyConstraint(["project_id"], [f"{SCHEMA}.projects.id"], name="fk_gpu_rules_project_id_projects"),
        sa.ForeignKeyConstraint(["lab_id"], [f"{SCHEMA}.labs.id"], name="fk_gpu_rules_lab_id_labs"),
        schema=SCHEMA,
    )


def downgrade() -> None:
    op.drop_table("gpu_rules", schema=SCHEMA)
    for name in reversed(_PROJECT_COLUMNS):
        op.drop_column("projects", name, schema=_schema())
    for name in ("gpu_weight", "max_gpus"):
        op.drop_column("labs", name, schema=_schema())
