"""A person's server of one project, as pages and REST show it: pure, from what the hub says."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bancada_hub.console.hub import HubServer
from bancada_hub.ui.language import Words


class Phase(StrEnum):
    """What a server does."""

    STOPPED = "stopped"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    UNKNOWN = "unknown"


MOVING = frozenset({Phase.STARTING, Phase.STOPPING})
"""Phases that end by themselves."""

PENDING = {"spawn": Phase.STARTING, "stop": Phase.STOPPING}


@dataclass(frozen=True)
class ServerView:
    """A server at one instant.

    Args:
        phase: What it does.
        safe_mode: Whether it runs, or starts, without the person's changes to the environment.
        url: Where it is opened; empty unless it runs.
        started_at: When it was started; None when it is stopped.
        seconds: For how long it has run or been starting.
        said: The last words of a start under way.
        failure: Why its last start failed; empty when it did not.
    """

    phase: Phase
    safe_mode: bool = False
    url: str = ""
    started_at: datetime | None = None
    seconds: float = 0.0
    said: str = ""
    failure: str = ""


UNKNOWN = ServerView(Phase.UNKNOWN)


def phase_of(server: HubServer | None) -> Phase:
    """Return what a server does, from what the hub says of it."""
    if server is None:
        return Phase.STOPPED
    if server.pending in PENDING:
        return PENDING[server.pending]
    return Phase.RUNNING if server.ready or server.pending else Phase.STOPPED


def view(server: HubServer | None, now: datetime, *, said: str = "", failure: str = "") -> ServerView:
    """Return a server as it is shown.

    Args:
        server: What the hub says; None when it never saw this server.
        now: The present instant.
        said: The last words of its start, while it starts.
        failure: Why its last start failed, when it is stopped.
    """
    phase = phase_of(server)
    if server is None or phase is Phase.STOPPED:
        return ServerView(phase, failure=failure)
    seconds = max(0.0, (now - server.started_at).total_seconds()) if server.started_at else 0.0
    return ServerView(
        phase=phase,
        safe_mode=server.kind == "rescue",
        url=server.url if phase is Phase.RUNNING else "",
        started_at=server.started_at,
        seconds=seconds,
        said=said,
    )


def describe(server: ServerView, words: Words) -> str:
    """Return the state in a word or two; beside it stand a colour and an icon."""
    if server.phase is Phase.RUNNING:
        return words.gettext("Running in safe mode") if server.safe_mode else words.gettext("Running")
    if server.phase is Phase.STOPPED and server.failure:
        return words.gettext("Did not start")
    return {
        Phase.STOPPED: words.gettext("Not running"),
        Phase.STARTING: words.gettext("Starting"),
        Phase.STOPPING: words.gettext("Stopping"),
        Phase.UNKNOWN: words.gettext("Unknown: the hub is restarting"),
    }[server.phase]


def colour(server: ServerView) -> str:
    """Return the kind of state: the colour and the icon."""
    if server.phase is Phase.STOPPED:
        return "bad" if server.failure else "idle"
    if server.phase is Phase.RUNNING:
        return "warn" if server.safe_mode else "good"
    return "unknown" if server.phase is Phase.UNKNOWN else "work"
