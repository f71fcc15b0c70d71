"""Opening, migrating and writing to Bancada's database.

SQLite runs in WAL mode with synchronous=FULL. Every write begins with BEGIN IMMEDIATE: in WAL, a transaction that
reads first and writes later fails at once when another writer came between, whatever the busy timeout.
Only `bancada up` migrates; everybody else refuses another version.
"""

import logging
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from bancada_hub.errors import StoreError
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store import card_models, queue_models, rule_models  # noqa: F401 - they belong to the database
from bancada_hub.store.models import SCHEMA

BUSY_TIMEOUT_S = 10.0
BACKUPS_KEPT = 5


@dataclass(frozen=True)
class Store:
    """An open database."""

    engine: Engine
    url: URL
    places: Places

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Run one transaction that may write; committed at the end, rolled back on an error."""
        writing = self.engine.execution_options(bancada_write=True)
        with _readable_errors(self.url), Session(writing) as session, session.begin():
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Run one transaction that only reads."""
        with _readable_errors(self.url), Session(self.engine) as session:
            yield session


def database_url(site: Site, places: Places) -> URL:
    """Return the address of Bancada's database, with its password from the password file."""
    if not site.database.url:
        return make_url(f"sqlite:///{places.database_file}")
    url = make_url(site.database.url).set(drivername="postgresql+psycopg")
    if site.database.password_file:
        url = url.set(password=_password(site.database.password_file))
    return url


def hub_database_url(site: Site, places: Places) -> str:
    """Return the address of JupyterHub's own database: a file of its own, or a schema of its own."""
    if not site.database.url:
        return f"sqlite:///{places.hub_database_file}"
    url = database_url(site, places).update_query_dict({"options": "-csearch_path=jupyterhub"})
    return url.render_as_string(hide_password=False)


def _password(path: Path) -> str:
    try:
        if path.stat().st_mode & 0o077:
            msg = f"The database password file {path} can be read by other accounts of this machine."
            raise StoreError(msg, fix=f"Run: chmod 600 {path}")
        return path.read_text().strip()
    except OSError as error:
        msg = f"The database password file {path} cannot be read: {error.strerror}."
        raise StoreError(msg, fix="Set database.password_file in bancada.toml to a file that exists.") from None


def connect(site: Site, places: Places) -> Store:
    """Prepare access to the database without asking whether its version fits; see `open_store`."""
    url = database_url(site, places)
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S})
        engine = engine.execution_options(schema_translate_map={SCHEMA: None})
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": int(BUSY_TIMEOUT_S)})
        event.listen(engine, "begin", _begin_postgresql)
    return Store(engine, url, places)


def open_store(site: Site, places: Places) -> Store:
    """Open the database, refusing one of another release.

    Raises:
        StoreError: It cannot be reached, or its version is not this release's.
    """
    store = connect(site, places)
    found, wanted = _versions(store)
    if found != wanted:
        _refuse(found, wanted)
    return store


def migrate(site: Site, places: Places) -> bool:
    """Bring the database to this release's version, after a backup of an SQLite file.

    Returns:
        Whether anything was changed.

    Raises:
        StoreError: It cannot be reached, or was written by a newer release.
    """
    store = connect(site, places)
    if store.url.get_backend_name() == "postgresql":
        _make_schemas(store)
    found, wanted = _versions(store)
    if found == wanted:
        return False
    known = {script.revision for script in ScriptDirectory.from_config(_alembic()).walk_revisions()}
    if found is not None and found not in known:
        _refuse(found, wanted)
    if found is not None and places.database_file.exists() and not site.database.url:
        _back_up(places)
    config = _alembic()
    with _readable_errors(store.url), store.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    if store.url.get_backend_name() == "sqlite":
        places.database_file.chmod(0o600)
    return True


def _configure_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # pysqlite would begin a deferred transaction by itself: `_begin_sqlite` begins them instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Any) -> None:  # noqa: ANN401 - SQLAlchemy's event passes a Connection
    writes = connection.get_execution_options().get("bancada_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_postgresql(connection: Any) -> None:  # noqa: ANN401 - SQLAlchemy's event passes a Connection
    # One writer at a time, as with SQLite: decisions read and write in one transaction.
    if connection.get_execution_options().get("bancada_write", False):
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('bancada'))")


def _make_schemas(store: Store) -> None:
    with _readable_errors(store.url), store.engine.begin() as connection:
        for schema in (SCHEMA, "jupyterhub"):
            connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {schema}"))


def _alembic() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


def _versions(store: Store) -> tuple[str | None, str]:
    logging.getLogger("alembic").setLevel(logging.WARNING)
    wanted = ScriptDirectory.from_config(_alembic()).get_current_head()
    if wanted is None:
        msg = "This installation of Bancada has no migrations."
        raise StoreError(msg, fix="Install it again: rm -r .venv && ./bancada up")
    if store.url.get_backend_name() == "sqlite" and not store.places.database_file.exists():
        return None, wanted
    schema = None if store.url.get_backend_name() == "sqlite" else SCHEMA
    with _readable_errors(store.url), store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table_schema": schema})
        return context.get_current_revision(), wanted


def _refuse(found: str | None, wanted: str) -> None:
    if found is None:
        msg = "The database has not been set up yet."
        raise StoreError(msg, fix="Run ./bancada up")
    known = [script.revision for script in ScriptDirectory.from_config(_alembic()).walk_revisions()]
    if found in known:
        msg = f"The database is at version {found}, older than this release needs ({wanted})."
        raise StoreError(msg, fix="Run ./bancada up, which backs it up and migrates it.")
    msg = f"The database is at version {found}, which this release does not know: a newer Bancada wrote it."
    raise StoreError(msg, fix="Run that newer release, or restore the backup it made in <data>/site/backups.")


def _back_up(places: Places) -> None:
    places.backups.mkdir(mode=0o700, parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    for database in (places.database_file, places.hub_database_file):
        if not database.exists():
            continue
        target = places.backups / f"{database.stem}-{stamp}.sqlite"
        free, needed = shutil.disk_usage(places.backups).free, 2 * database.stat().st_size
        if free < needed:
            msg = f"No room to back up {database}: {needed >> 20} MiB are needed, {free >> 20} MiB are free."
            raise StoreError(msg, fix=f"Free some space on the disk of {places.data} and run ./bancada up again.")
        with sqlite3.connect(database) as source, sqlite3.connect(target) as copy:
            source.backup(copy)
        target.chmod(0o600)
        for old in sorted(places.backups.glob(f"{database.stem}-*.sqlite"))[:-BACKUPS_KEPT]:
            old.unlink()


@contextmanager
def _readable_errors(url: URL) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if not (error.connection_invalidated or _is_connection_trouble(error)):
            raise
        reason = str(error.orig).strip().splitlines()[0]
        shown = url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)
        msg = f"The database {shown} cannot be reached: {reason}."
        raise StoreError(msg, fix="Start it, or correct database.url in bancada.toml.") from error


def _is_connection_trouble(error: DBAPIError) -> bool:
    words = str(error.orig).lower()
    signs = ("connection", "unable to open", "could not connect", "password", "does not exist", "timeout", "locked")
    return type(error.orig).__name__ == "OperationalError" and any(sign in words for sign in signs)
