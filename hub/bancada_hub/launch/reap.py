"""Clearing what a hub that was killed left behind: at its next start, before it accepts anybody.

The hub keeps its own record of the servers it started. A container that no record names belongs to a start that was
cut short, or to a server whose record is lost: nobody could reach it any more, and it would hold its overlay for ever.
"""

import json
import logging
from collections.abc import Iterable

import docker
from docker.errors import DockerException
from requests.exceptions import RequestException
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from bancada_hub.errors import EngineError
from bancada_hub.launch.container import remove_containers, remove_volumes
from bancada_hub.launch.names import ROLE_LABEL, SERVER_ROLE, SITE_LABEL
from bancada_hub.store import overlays, servers
from bancada_hub.store.database import Store

_log = logging.getLogger(__name__)


def known_starts(hub_database_url: str) -> set[str]:
    """Return the starts whose servers the hub's database says are running; nothing before the hub's first start.

    Args:
        hub_database_url: Where JupyterHub keeps its tables. Only read, and only while the hub does not run.
    """
    engine = create_engine(hub_database_url)
    try:
        if not inspect(engine).has_table("spawners"):
            return set()
        with engine.connect() as connection:
            rows = connection.execute(text("SELECT state FROM spawners WHERE server_id IS NOT NULL"))
            return start_ids(state for (state,) in rows)
    finally:
        engine.dispose()


def start_ids(states: Iterable[str | None]) -> set[str]:
    """Return the starts that the hub's records of its spawners name."""
    read = [json.loads(state) for state in states if state]
    return {state["start_id"] for state in read if isinstance(state, dict) and state.get("start_id")}


def reap(engine_host: str, store: Store, site_id: str, keep: set[str]) -> set[str]:
    """Remove this site's server containers and volumes that belong to no known start, and free what these held.

    Args:
        engine_host: The engine's address; empty with the process engine, which leaves only locks to clear.
        store: The database.
        site_id: Nothing of another site is touched.
        keep: The starts that are known.

    Returns:
        The starts that are no more.

    Raises:
        EngineError: The engine does not answer; locks stay as they are.
    """
    gone = _reap_engine(engine_host, site_id, keep) if engine_host else set()
    with store.write() as session:
        holding = overlays.held(session).keys() | {server.start_id for server in servers.held(session)}
        for start_id in holding - keep:
            overlays.release(session, start_id)
            servers.release(session, start_id)
            gone.add(start_id)
    return gone


def reap_at_start(engine_host: str, store: Store, site_id: str, hub_database_url: str) -> None:
    """Do all that a starting hub needs; an engine or a database that is silent now must not keep the hub from starting.

    What stays is removed before the next start of the same server.
    """
    try:
        gone = reap(engine_host, store, site_id, known_starts(hub_database_url))
    except (EngineError, SQLAlchemyError) as error:
        _log.warning("Leftovers of an earlier hub stay until the next start of the same server: %s", error)
        return
    if gone:
        _log.warning("Removed what an earlier hub left: %s", ", ".join(sorted(gone)))


def _reap_engine(engine_host: str, site_id: str, keep: set[str]) -> set[str]:
    labels = {SITE_LABEL: site_id, ROLE_LABEL: SERVER_ROLE}
    try:
        client = docker.DockerClient(base_url=engine_host, version="auto", timeout=60)
        try:
            return remove_containers(client, labels, keep=keep) | remove_volumes(client, labels, keep=keep)
        finally:
            client.close()
    except (DockerException, RequestException) as error:
        msg = f"The container engine at {engine_host} does not answer: {error}"
        raise EngineError(msg, fix="Run: ./bancada doctor") from error
