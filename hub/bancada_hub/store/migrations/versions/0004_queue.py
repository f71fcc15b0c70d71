"""The GPU queue: requests, leases, seats on cards, and the queue's clock."""

import sqlalchemy as sa
from alembic import op

from bancada_hub.store.models import SCHEMA

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _requests()
    _leases()
    op.create_table(
        "gpu_seats",
        sa.Column("card", sa.String(80), nullable=False),
        sa.Column("seat", sa.Integer, nullable=False),
        sa.Column("request_id", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("card", "seat", name="pk_gpu_seats"),
        sa.ForeignKeyConstraint(
            ["request_id"], [f"{SCHEMA}.gpu_leases.request_id"], name="fk_gpu_seats_request_id_gpu_leases"
        ),
        schema=SCHEMA,
    )
    op.create_table(
        "gpu_queue",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("at_s", sa.Float, nullable=False),
        sa.Column("use", sa.JSON, nullable=False),
        sa.Column("served", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_gpu_queue"),
        schema=SCHEMA,
    )


def _requests() -> None:
    op.create_table(
        "gpu_requests",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.Column("person_id", sa.Integer, nullable=False),
        sa.Column("shape", sa.JSON, nullable=False),
        sa.Column("on_grant", sa.String(8), nullable=False),
        sa.Column("asked_s", sa.Float, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.JSON, nullable=False),
        sa.Column("closed_s", sa.Float),
        sa.PrimaryKeyConstraint("id", name="pk_gpu_requests"),
        sa.ForeignKeyConstraint(["project_id"], [f"{SCHEMA}.projects.id"], name="fk_gpu_requests_project_id_projects"),
        sa.ForeignKeyConstraint(["person_id"], [f"{SCHEMA}.people.id"], name="fk_gpu_requests_person_id_people"),
        schema=SCHEMA,
    )
    op.create_index("ix_gpu_requests_state", "gpu_requests", ["state"], schema=SCHEMA)


def _leases() -> None:
    op.create_table(
        "gpu_leases",
        sa.Column("request_id", sa.Integer, nullable=False),
        sa.Column("cards", sa.JSON, nullable=False),
        sa.Column("milli", sa.Integer, nullable=False),
        sa.Column("granted_s", sa.Float, nullable=False),
        sa.Column("ends_s", sa.Float, nullable=False),
        sa.Column("claim_by_s", sa.Float),
        sa.Column("backfill", sa.Boolean, nullable=False),
        sa.Column("server", sa.String(64), nullable=False),
        sa.Column("ended_s", sa.Float),
        sa.PrimaryKeyConstraint("request_id", name="pk_gpu_leases"),
        sa.ForeignKeyConstraint(
            ["request_id"], [f"{SCHEMA}.gpu_requests.id"], name="fk_gpu_leases_request_id_gpu_requests"
        ),
        schema=SCHEMA,
    )
    op.create_index("ix_gpu_leases_ended_s", "gpu_leases", ["ended_s"], schema=SCHEMA)


def downgrade() -> None:
    for table in ("gpu_queue", "gpu_seats", "gpu_leases", "gpu_requests"):
        op.drop_table(table, schema=SCHEMA)
