"""The hub's clock: what there is against what there must be, from the hub's start on, in a thread of its own."""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import create_engine, inspect, text

from bancada_hub.errors import BancadaError
from bancada_hub.launch.again import again_and_again
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.names import ServerKey, container_name
from bancada_hub.launch.planned import PlannedServer
from bancada_hub.launch.reconcile import FOR_HUB, Action, Kind, Known, reconcile, summary
from bancada_hub.launch.silence import noted_silence

EVERY_S = 10.0
"""Seconds between two looks."""

_log = logging.getLogger(__name__)


@dataclass
class Clock:
    """Reconciles a site again and again.

    Args:
        context: The site.
        records: Says which starts the hub's own records name, and their servers.
        loop: The hub's.
        said: What was said of the look before.
    """

    context: LaunchContext
    records: Callable[[], dict[str, str]]
    loop: asyncio.AbstractEventLoop
    said: dict[str, str] = field(default_factory=dict)

    def begin(self, every_s: float | None = None) -> threading.Event:
        """Look now and every so many seconds; returns what ends that when it is set."""
        return again_and_again("clock", every_s or EVERY_S, self.tick, "Nothing can be reconciled now")

    def known(self) -> Known:
        """Return what the hub knows: its records, and what its spawners are at."""
        recorded = self.records()
        live = list(PlannedServer.live.items())
        return Known(
            starts=frozenset({*recorded, *(start for start, _ in live), *list(PlannedServer.being_cleaned)}),
            up=frozenset(start for start, server in live if server.came_up and not server.pending),
            names=frozenset({*recorded.values(), *(container_name(server.key) for _, server in live if server.key)}),
        )

    def tick(self) -> list[Action]:
        """Look once and do what is to be done; returns what that was."""
        with noted_silence(self.context.places, self.context.engine_host):
            actions, failed = reconcile(self.context, self.known)
        self._say("Reconciled", summary(actions))
        self._say("Could not", "; ".join(failed))
        for action in (action for action in actions if action.kind in FOR_HUB):
            asyncio.run_coroutine_threadsafe(self._at_hub(action), self.loop).add_done_callback(_tell_failure)
        return actions

    def _say(self, what: str, words: str) -> None:
        if words and self.said.get(what) != words:  # once, not at every look
            _log.warning("%s: %s", what, words)
        self.said[what] = words

    async def _at_hub(self, action: Action) -> None:
        server = PlannedServer.live.get(action.start_id)
        if server is None or server.pending or not server.came_up:
            return  # somebody was faster
        if action.kind is Kind.STOP:
            await server.end_outside()
        await server.poll_and_notify()


def _tell_failure(done: "Future[None]") -> None:
    error = None if done.cancelled() else done.exception()
    if isinstance(error, BancadaError):
        _log.error("What the hub was to do is left for the next look: %s", error)
    elif error is not None:
        _log.error("What the hub was to do is left for the next look", exc_info=error)


def recorded_starts(hub_database_url: str) -> Callable[[], dict[str, str]]:
    """Return what reads the starts of running servers from the hub's database, each with its container's name.

    Needed until a restarted hub has read them itself.

    Args:
        hub_database_url: Where JupyterHub keeps its tables; only read.
    """
    engine = create_engine(hub_database_url)

    def read() -> dict[str, str]:
        if not inspect(engine).has_table("spawners"):
            return {}
        with engine.connect() as connection:
            rows = connection.execute(text("SELECT state FROM spawners WHERE server_id IS NOT NULL"))
            return starts_of(state for (state,) in rows)

    return read


def starts_of(states: Iterable[str | None]) -> dict[str, str]:
    """Return the starts that the hub's records of its spawners name."""
    read: list[Any] = [json.loads(state) for state in states if state]
    named = [state for state in read if isinstance(state, dict) and state.get("start_id") and state.get("server")]
    return {state["start_id"]: container_name(ServerKey(*state["server"])) for state in named}
