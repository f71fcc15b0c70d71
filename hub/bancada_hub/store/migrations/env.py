"""Alembic's environment: runs on the connection that `bancada_hub.store.database.migrate` hands over."""

from alembic import context

from bancada_hub.store.models import SCHEMA, Base

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    version_table_schema=None if connection.dialect.name == "sqlite" else SCHEMA,
    include_schemas=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
