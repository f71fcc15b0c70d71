"""How servers ended that their people did not stop."""

import sqlalchemy as sa
from alembic import op

from bancada_hub.store.models import SCHEMA

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "server_ends",
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.Column("person_id", sa.Integer, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cause", sa.String(16), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("memory_bytes", sa.BigInteger),
        sa.Column("by", sa.String(120), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "person_id", name="pk_server_ends"),
        sa.ForeignKeyConstraint(["project_id"], [f"{SCHEMA}.projects.id"], name="fk_server_ends_project_id_projects"),
        sa.ForeignKeyConstraint(["person_id"], [f"{SCHEMA}.people.id"], name="fk_server_ends_person_id_people"),
        schema=SCHEMA,
    )


def downgrade() -> None:
    op.drop_table("server_ends", schema=SCHEMA)
