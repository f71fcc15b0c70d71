"""Which end of a lease its holder was warned of."""

import sqlalchemy as sa
from alembic import op

from bancada_hub.store.models import SCHEMA

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def _schema() -> str | None:
    """Return the schema for what alters a table: unlike queries, these commands are not mapped for SQLite."""
    return None if op.get_bind().dialect.name == "sqlite" else SCHEMA


def upgrade() -> None:
    op.add_column("gpu_leases", sa.Column("warned_for_s", sa.Float), schema=_schema())


def downgrade() -> None:
    op.drop_column("gpu_leases", "warned_for_s", schema=_schema())
