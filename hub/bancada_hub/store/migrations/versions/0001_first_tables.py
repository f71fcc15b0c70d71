"""The first tables: people, projects, images, preparation, overlays."""

import sqlalchemy as sa
from alembic import op

from bancada_hub.store.models import SCHEMA

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    _people_and_projects()
    _catalog()
    op.create_table(
        "preparation_steps",
        sa.Column("key", sa.String(40), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("title", sa.String(120), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("detail", sa.String(400), nullable=False),
        sa.Column("expected_s", sa.Float, nullable=False),
        sa.Column("started_at", MOMENT),
        sa.Column("ended_at", MOMENT),
        sa.Column("beat_at", MOMENT),
        sa.PrimaryKeyConstraint("key", name="pk_preparation_steps"),
        schema=SCHEMA,
    )
    op.create_table(
        "overlays",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.Column("person_id", sa.Integer, nullable=False),
        sa.Column("base", sa.String(80), nullable=False),
        sa.Column("held_by", sa.String(64)),
        sa.Column("held_since", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_overlays"),
        sa.ForeignKeyConstraint(["project_id"], [f"{SCHEMA}.projects.id"], name="fk_overlays_project_id_projects"),
        sa.ForeignKeyConstraint(["person_id"], [f"{SCHEMA}.people.id"], name="fk_overlays_person_id_people"),
        sa.UniqueConstraint("project_id", "person_id", "base", name="uq_overlays_project_id"),
        schema=SCHEMA,
    )


def _people_and_projects() -> None:
    op.create_table(
        "people",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("uid", sa.Integer, nullable=False),
        sa.Column("password_hash", sa.String(256)),
        sa.Column("admin", sa.Boolean, nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_people"),
        sa.UniqueConstraint("name", name="uq_people_name"),
        sa.UniqueConstraint("uid", name="uq_people_uid"),
        schema=SCHEMA,
    )
    op.create_table(
        "projects",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("slug", sa.String(24), nullable=False),
        sa.Column("title", sa.String(80), nullable=False),
        sa.Column("gid", sa.Integer, nullable=False),
        sa.Column("owner_id", sa.Integer),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
        sa.UniqueConstraint("slug", name="uq_projects_slug"),
        sa.UniqueConstraint("gid", name="uq_projects_gid"),
        sa.ForeignKeyConstraint(["owner_id"], [f"{SCHEMA}.people.id"], name="fk_projects_owner_id_people"),
        schema=SCHEMA,
    )
    op.create_table(
        "members",
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.Column("person_id", sa.Integer, nullable=False),
        sa.Column("lead", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "person_id", name="pk_members"),
        sa.ForeignKeyConstraint(["project_id"], [f"{SCHEMA}.projects.id"], name="fk_members_project_id_projects"),
        sa.ForeignKeyConstraint(["person_id"], [f"{SCHEMA}.people.id"], name="fk_members_person_id_people"),
        schema=SCHEMA,
    )


def _catalog() -> None:
    op.create_table(
        "images",
        sa.Column("key", sa.String(40), nullable=False),
        sa.Column("title", sa.String(80), nullable=False),
        sa.Column("purpose", sa.String(400), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_images"),
        schema=SCHEMA,
    )
    op.create_table(
        "revisions",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("image_key", sa.String(40), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("tag", sa.String(128), nullable=False),
        sa.Column("lower", sa.String(200), nullable=False),
        sa.Column("server_environment", sa.String(200), nullable=False),
        sa.Column("spec_hash", sa.String(64), nullable=False),
        sa.Column("lock_hash", sa.String(64), nullable=False),
        sa.Column("python", sa.String(16), nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_revisions"),
        sa.ForeignKeyConstraint(["image_key"], [f"{SCHEMA}.images.key"], name="fk_revisions_image_key_images"),
        sa.UniqueConstraint("image_key", "digest", name="uq_revisions_image_key"),
        schema=SCHEMA,
    )


def downgrade() -> None:
    for table in ("overlays", "preparation_steps", "revisions", "images", "members", "projects", "people"):
        op.drop_table(table, schema=SCHEMA)
