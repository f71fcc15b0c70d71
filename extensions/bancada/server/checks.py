"""What must hold before a server starts; a failed check is a sentence, and an exit status that the hub understands."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from bancada.contract import RESCUE, StartFailure

ENGINES_WORK_ENVIRONMENT = Path("/opt/env")
PROJECT = Path("/project")


@dataclass(frozen=True)
class Start:
    """What a server finds.

    Args:
        kind: `work` or `rescue`.
        home: The person's home.
        runtime: The folder for sockets, in memory.
        work_environment: Where kernels and terminals run.
        project: The project's folder, in a container; None without one.
    """

    kind: str
    home: Path
    runtime: Path
    work_environment: Path
    project: Path | None = None


def check(start: Start, mountinfo: str) -> StartFailure | None:
    """Return the first thing that keeps a server from starting.

    Args:
        start: What it finds.
        mountinfo: The text of /proc/self/mountinfo.
    """
    return (
        _home(start.home) or _runtime(start.runtime) or _project(start.project) or _work_environment(start, mountinfo)
    )


def _home(home: Path) -> StartFailure | None:
    try:
        owner = home.stat().st_uid
    except OSError as error:
        return StartFailure("home", f"The home {home} cannot be read: {error.strerror}. Ask an administrator.")
    if owner != os.getuid():
        return StartFailure(
            "home", f"The home {home} belongs to uid {owner}, not to you (uid {os.getuid()}). Ask an administrator."
        )
    # access(2), and no file: a home whose quota is full takes none, and must not keep anybody out.
    if not os.access(home, os.W_OK | os.X_OK):
        return StartFailure("home", f"The home {home} cannot be written. Ask an administrator.")
    return None


def _runtime(runtime: Path) -> StartFailure | None:
    try:
        found = runtime.stat()
    except OSError as error:
        return StartFailure("runtime", f"{runtime} cannot be read: {error.strerror}. Ask an administrator.")
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return StartFailure("runtime", f"{runtime} is not yours alone. Ask an administrator.")
    return None


def _project(project: Path | None) -> StartFailure | None:
    if project is None or os.access(project, os.W_OK | os.X_OK):
        return None
    return StartFailure("project", f"The project's folder {project} cannot be written. Ask an administrator.")


def _work_environment(start: Start, mountinfo: str) -> StartFailure | None:
    path = start.work_environment
    if not os.access(path / "bin" / "python", os.X_OK):
        return StartFailure("environment", f"The work environment {path} has no Python. Ask an administrator.")
    if start.kind == RESCUE:
        return None
    if path == ENGINES_WORK_ENVIRONMENT and mount_type(path, mountinfo) != "overlay":
        return StartFailure(
            "environment",
            f"The work environment {path} is not the overlay that it must be: what you install would be lost. "
            "Ask an administrator.",
        )
    # A full disk makes overlayfs mount read-only without a word (field: its work folder cannot be made).
    if os.statvfs(path).f_flag & os.ST_RDONLY or not os.access(path, os.W_OK):
        return StartFailure(
            "read-only",
            f"The work environment {path} came up read-only: its disk or quota is full. "
            "Start in rescue mode and delete something, or reset the environment.",
        )
    return None


def mount_type(path: Path, mountinfo: str) -> str | None:
    """Return the type of the file system mounted exactly at a path, or None (proc(5))."""
    found = None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        if left.split()[4] == str(path):
            found = right.split()[0]  # the last one is on top
    return found
