"""When all of a person's sessions were ended last, and how far the hub has done it."""

import sqlalchemy as sa
from alembic import op

from bancada_hub.store.models import SCHEMA

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def _schema() -> str | None:
    """Return the schema for what alters a table: unlike queries, these commands are not mapped for SQLite."""
    return None if op.get_bind().dialect.name == "sqlite" else SCHEMA


def upgrade() -> None:
    for name in ("signed_out_at", "hub_signed_out_at"):
        op.add_column("people", sa.Column(name, sa.DateTime(timezone=True)), schema=_schema())


def downgrade() -> None:
    for name in ("hub_signed_out_at", "signed_out_at"):
        op.drop_column("people", name, schema=_schema())
