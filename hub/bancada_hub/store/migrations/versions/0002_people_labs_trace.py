"""Labs and their leads, more about people and projects, audit, ledger, notices."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from bancada_hub.store.models import SCHEMA

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def _schema() -> str | None:
    """Return the schema for what alters a table: unlike queries, these commands are not mapped for SQLite."""
    return None if op.get_bind().dialect.name == "sqlite" else SCHEMA


def upgrade() -> None:
    _labs()
    _columns()
    _trace()
    _notices()
    _first_lab()


def _labs() -> None:
    op.create_table(
        "labs",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("slug", sa.String(24), nullable=False),
        sa.Column("title", sa.String(80), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("archived_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_labs"),
        sa.UniqueConstraint("slug", name="uq_labs_slug"),
        schema=SCHEMA,
    )
    op.create_table(
        "lab_leads",
        sa.Column("lab_id", sa.Integer, nullable=False),
        sa.Column("person_id", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("lab_id", "person_id", name="pk_lab_leads"),
        sa.ForeignKeyConstraint(["lab_id"], [f"{SCHEMA}.labs.id"], name="fk_lab_leads_lab_id_labs"),
        sa.ForeignKeyConstraint(["person_id"], [f"{SCHEMA}.people.id"], name="fk_lab_leads_person_id_people"),
        schema=SCHEMA,
    )


def _columns() -> None:
    for column in (
        sa.Column("display_name", sa.String(80), nullable=False, server_default=""),
        sa.Column("language", sa.String(8), nullable=False, server_default=""),
        sa.Column("theme", sa.String(16), nullable=False, server_default=""),
        sa.Column("must_change_password", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("failed_sign_ins", sa.Integer, nullable=False, server_default="0"),
        sa.Column("locked_until", MOMENT),
    ):
        op.add_column("people", column, schema=_schema())
    op.add_column("projects", sa.Column("archived_at", MOMENT), schema=_schema())
    op.add_column("projects", sa.Column("version", sa.Integer, nullable=False, server_default="1"), schema=_schema())
    # In words of SQL: SQLite takes a reference only as part of its new column, which Alembic does not write.
    prefix = f"{SCHEMA}." if _schema() else ""
    reference = f"CONSTRAINT fk_projects_lab_id_labs REFERENCES {prefix}labs (id)"
    op.execute(f"ALTER TABLE {prefix}projects ADD COLUMN lab_id INTEGER {reference}")


def _trace() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("subject", sa.String(120), nullable=False),
        sa.Column("origin", sa.String(80), nullable=False),
        sa.Column("result", sa.String(16), nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sa.UniqueConstraint("hash", name="uq_audit_hash"),
        schema=SCHEMA,
    )
    op.create_table(
        "ledger",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("project_id", sa.Integer),
        sa.Column("person_id", sa.Integer),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ledger"),
        sa.ForeignKeyConstraint(["project_id"], [f"{SCHEMA}.projects.id"], name="fk_ledger_project_id_projects"),
        sa.ForeignKeyConstraint(["person_id"], [f"{SCHEMA}.people.id"], name="fk_ledger_person_id_people"),
        schema=SCHEMA,
    )


def _notices() -> None:
    op.create_table(
        "notices",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("person_id", sa.Integer, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("level", sa.String(16), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("action_label", sa.String(80), nullable=False),
        sa.Column("action_url", sa.String(400), nullable=False),
        sa.Column("seen_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_notices"),
        sa.ForeignKeyConstraint(["person_id"], [f"{SCHEMA}.people.id"], name="fk_notices_person_id_people"),
        schema=SCHEMA,
    )


def _first_lab() -> None:
    """Give the shared projects that there are a lab; a new database gets its first lab from `bancada up`."""
    labs = sa.table(
        "labs",
        sa.column("slug"),
        sa.column("title"),
        sa.column("created_at", MOMENT),
        sa.column("id"),
        schema=_schema(),
    )
    projects = sa.table("projects", sa.column("owner_id"), sa.column("lab_id"), schema=_schema())
    connection = op.get_bind()
    if not connection.scalar(sa.select(sa.func.count()).select_from(projects).where(projects.c.owner_id.is_(None))):
        return
    connection.execute(sa.insert(labs).values(slug="lab", title="Lab", created_at=datetime.now(UTC)))
    first = sa.select(labs.c.id).where(labs.c.slug == "lab").scalar_subquery()
    connection.execute(sa.update(projects).where(projects.c.owner_id.is_(None)).values(lab_id=first))


def downgrade() -> None:
    for table in ("notices", "ledger", "audit", "lab_leads"):
        op.drop_table(table, schema=SCHEMA)
    for column in ("lab_id", "version", "archived_at"):
        op.drop_column("projects", column, schema=_schema())
    for column in ("locked_until", "failed_sign_ins", "must_change_password", "theme", "language", "display_name"):
        op.drop_column("people", column, schema=_schema())
    op.drop_table("labs", schema=SCHEMA)
