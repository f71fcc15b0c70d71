"""The container engine: made sure of, and tried. What finds and reaches it is in `connection`."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from bancada_hub.errors import EngineError, HostError
from bancada_hub.host import daemon, debian
from bancada_hub.host.connection import (
    ANSWER_WITHIN_S,
    END_IT,
    HOST_VARIABLE,
    Engine,
    EngineMissing,
    EngineSilent,
    client,
    connect,
    find_engine,
)
from bancada_hub.host.probe import probe_engine

__all__ = [
    "Engine",
    "EngineMissing",
    "EngineSilent",
    "client",
    "connect",
    "ensure_engine",
    "find_engine",
    "probe_engine",
    "why_not_docker",
]

PACKAGES = ("docker.io", "iptables")
REASON = "Bancada runs each person's work in a container, and no container engine is on this machine."


def why_not_docker() -> str:
    """Return why this account cannot have the docker engine on this machine, as words after "because"; else ""."""
    if sys.platform != "linux":
        return f"the docker engine needs Linux, and this is {sys.platform}."
    if os.geteuid() != 0:
        return "the docker engine needs root, and this account is not root."
    if daemon.has_program("dockerd") or debian.is_debian():
        return ""
    try:
        find_engine()
    except EngineMissing:
        return "no container engine is here, and this system has no apt-get to install one with."
    return ""


def ensure_engine(*, agreed: bool, ask: debian.Ask | None, log: Path, say: Callable[[str], None]) -> Engine:
    """Return the engine that answers, after installing and starting Debian's where there is none.

    Args:
        agreed: Whether `--yes` was given: then nothing is asked.
        ask: Asks a question on the terminal; None where there is no terminal.
        log: Where an engine that runs without systemd writes its log.
        say: Tells the person what happens.

    Raises:
        EngineError: There is none and none could be started, or the one that is there does not answer.
    """
    try:
        return find_engine(ANSWER_WITHIN_S)
    except EngineMissing:
        if os.environ.get(HOST_VARIABLE):  # somebody chose that engine: another one would not be what they meant
            raise
    except EngineSilent as silent:
        if daemon.has_systemd() or not log.exists():
            raise
        raise EngineSilent(silent.what, fix=f"Read its log: {log}\n{END_IT}") from silent
    daemon.check_can_start()
    absent = list(PACKAGES) if not daemon.has_program("dockerd") else []
    if not daemon.has_program("iptables"):
        absent = absent or ["iptables"]
    if absent:
        say(f"Debian's packages {' and '.join(absent)}")
        try:
            debian.install(absent, reason=REASON, agreed=agreed, ask=ask)
        except HostError as error:
            raise EngineError(error.what, fix=f"{error.fix}\n{daemon.TRIAL_FIX}") from error
    if not _answers():  # an installation may have started it
        say("Starting the container engine")
        if daemon.has_systemd():
            daemon.start_with_systemd(_answers)
        else:
            daemon.start_detached(daemon.Daemon(), log, _answers, say)
    return find_engine()


def _answers() -> bool:
    """Say whether an engine answers now."""
    try:
        find_engine(timeout_s=2)
    except EngineError:
        return False
    return True
