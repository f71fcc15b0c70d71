"""What administrators decided about cards, what failed, and when a lease's server was heard last."""

import sqlalchemy as sa
from alembic import op

from bancada_hub.store.models import SCHEMA

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def _schema() -> str | None:
    """Return the schema for what alters a table: unlike queries, these commands are not mapped for SQLite."""
    return None if op.get_bind().dialect.name == "sqlite" else SCHEMA


def upgrade() -> None:
    op.create_table(
        "gpu_cards",
        sa.Column("uuid", sa.String(80), nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("whole", sa.Boolean, nullable=False),
        sa.Column("model", sa.String(120), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger, nullable=False),
        sa.Column("first_s", sa.Float, nullable=False),
        sa.Column("out", sa.Boolean, nullable=False),
        sa.Column("tenants", sa.Integer, nullable=False),
        sa.Column("project_id", sa.Integer),
        sa.Column("lab_id", sa.Integer),
        sa.Column("reason", sa.String(200), nullable=False),
        sa.Column("marked_by", sa.String(64), nullable=False),
        sa.Column("marked_s", sa.Float),
        sa.PrimaryKeyConstraint("uuid", name="pk_gpu_cards"),
        sa.ForeignKeyConstraint(["project_id"], [f"{SCHEMA}.projects.id"], name="fk_gpu_cards_project_id_projects"),
        sa.ForeignKeyConstraint(["lab_id"], [f"{SCHEMA}.labs.id"], name="fk_gpu_cards_lab_id_labs"),
        schema=SCHEMA,
    )
    op.create_table(
        "gpu_incidents",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("card", sa.String(80), nullable=False),
        sa.Column("cause", sa.String(16), nullable=False),
        sa.Column("words", sa.JSON, nullable=False),
        sa.Column("began_s", sa.Float, nullable=False),
        sa.Column("ended_s", sa.Float),
        sa.Column("open_key", sa.String(120)),
        sa.Column("closed_by", sa.String(64), nullable=False),
        sa.Column("held", sa.JSON, nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_gpu_incidents"),
        sa.UniqueConstraint("open_key", name="uq_gpu_incidents_open_key"),
        schema=SCHEMA,
    )
    for column in ("card", "ended_s"):
        op.create_index(f"ix_gpu_incidents_{column}", "gpu_incidents", [column], schema=SCHEMA)
    op.add_column("gpu_leases", sa.Column("renewed_s", sa.Float), schema=_schema())


def downgrade() -> None:
    op.drop_column("gpu_leases", "renewed_s", schema=_schema())
    op.drop_table("gpu_incidents", schema=SCHEMA)
    op.drop_table("gpu_cards", schema=SCHEMA)
