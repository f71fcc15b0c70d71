"""What this machine has for servers: memory and cores, of the machine or of the container that the site runs in.

Containers of the engine are children of the root control group that is seen here; inside another container, that is
the container's own, and its limits hold for all of them. Processes of the process engine are children of the site's
own control group, so the limits on its way count too.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
_NONE_BYTES = 1 << 60
"""From here on a limit is none: control groups of version 1 have the largest number that fits."""


@dataclass(frozen=True)
class Machine:
    """What there is for servers and for the machine itself.

    Args:
        memory_bytes: Of memory.
        cores: Of CPU; a container's quota can be a part of one.
    """

    memory_bytes: int
    cores: float


def read_machine(*, own_group: bool, root: Path = ROOT) -> Machine:
    """Read what there is.

    Args:
        own_group: Whether servers are children of this very process, so that its own limits hold for them.
        root: Where /proc and /sys are.
    """
    memory = [memory_total(_text(root / "proc/meminfo"))]
    cores = [float(len(os.sched_getaffinity(0)))]
    for folder in _groups(root, "memory", own=own_group):
        memory += memory_limits(_text(folder / "memory.max"), _text(folder / "memory.limit_in_bytes"))
    for folder in _groups(root, "cpu", own=own_group):
        version_1 = f"{_text(folder / 'cpu.cfs_quota_us')} {_text(folder / 'cpu.cfs_period_us')}"
        cores += core_limits(_text(folder / "cpu.max")) + core_limits(version_1)
    return Machine(min(memory), min(cores))


def memory_total(meminfo: str) -> int:
    """Return the machine's memory in bytes, from the text of /proc/meminfo (proc(5))."""
    return next(int(line.split()[1]) * 1024 for line in meminfo.splitlines() if line.startswith("MemTotal:"))


def memory_limits(*texts: str) -> list[int]:
    """Return the limits, in bytes, that files of control groups name; `max`, huge numbers and no text are none."""
    return [int(text) for text in texts if text.isascii() and text.isdigit() and 0 < int(text) < _NONE_BYTES]


def core_limits(text: str) -> list[float]:
    """Return the limit, in cores, that a quota and a period name; `max`, -1 and no text are none."""
    parts = text.split()
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        return []
    return [int(parts[0]) / int(parts[1])]


def group_paths(text: str, controller: str) -> list[str]:
    """Return this process's control groups for a controller, from the text of /proc/self/cgroup (cgroups(7)).

    A line of version 2 names no controller; version 1 has a line for each hierarchy.
    """
    lines = [line.split(":", 2) for line in text.splitlines() if line.count(":") >= 2]
    return [path for _, names, path in lines if names == "" or controller in names.split(",")]


def _groups(root: Path, controller: str, *, own: bool) -> Iterator[Path]:
    bases = (root / "sys/fs/cgroup", root / "sys/fs/cgroup" / controller)
    yield from bases
    if not own:
        return
    for path in group_paths(_text(root / "proc/self/cgroup"), controller):
        parts = [part for part in path.split("/") if part not in {"", ".."}]
        for base in bases:
            for depth in range(1, len(parts) + 1):
                yield base.joinpath(*parts[:depth])


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
