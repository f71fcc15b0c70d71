"""What servers hold, the ceilings of labs and projects, where servers may reach, and notices in any language."""

import sqlalchemy as sa
from alembic import op

from bancada_hub.store.models import SCHEMA

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def _schema() -> str | None:
    """Return the schema for what alters a table: unlike queries, these commands are not mapped for SQLite."""
    return None if op.get_bind().dialect.name == "sqlite" else SCHEMA


def upgrade() -> None:
    op.create_table(
        "servers",
        sa.Column("start_id", sa.String(64), nullable=False),
        sa.Column("person_id", sa.Integer, nullable=False),
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("size", sa.String(4), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger, nullable=False),
        sa.Column("cpus", sa.Float, nullable=False),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("start_id", name="pk_servers"),
        sa.UniqueConstraint("project_id", "person_id", name="uq_servers_project_id"),
        sa.ForeignKeyConstraint(["person_id"], [f"{SCHEMA}.people.id"], name="fk_servers_person_id_people"),
        sa.ForeignKeyConstraint(["project_id"], [f"{SCHEMA}.projects.id"], name="fk_servers_project_id_projects"),
        schema=SCHEMA,
    )
    for table in ("labs", "projects"):
        op.add_column(table, sa.Column("max_cpus", sa.Float), schema=_schema())
        op.add_column(table, sa.Column("max_memory_bytes", sa.BigInteger), schema=_schema())
    egress = sa.Column("egress", sa.String(8), nullable=False, server_default="open")
    op.add_column("projects", egress, schema=_schema())
    op.add_column("labs", sa.Column("version", sa.Integer, nullable=False, server_default="1"), schema=_schema())
    size = sa.Column("last_size", sa.String(4), nullable=False, server_default="")
    op.add_column("members", size, schema=_schema())
    op.add_column("notices", sa.Column("made_of", sa.JSON), schema=_schema())


def downgrade() -> None:
    op.drop_column("notices", "made_of", schema=_schema())
    op.drop_column("members", "last_size", schema=_schema())
    op.drop_column("labs", "version", schema=_schema())
    op.drop_column("projects", "egress", schema=_schema())
    for table in ("projects", "labs"):
        for column in ("max_memory_bytes", "max_cpus"):
            op.drop_column(table, column, schema=_schema())
    op.drop_table("servers", schema=SCHEMA)
