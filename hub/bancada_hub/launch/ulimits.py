"""The ulimits of servers: what training needs (locked memory for GPU transfers, files, stack), as far as they go here.

An engine without the right to raise limits, as inside another container, refuses to start anything that asks for more
than it has itself.
"""

import resource
from pathlib import Path

from bancada_hub.launch.sizes import MIB, Ulimit

STACK_BYTES = 64 * MIB
_UNLIMITED = -1
_MAY_RAISE = 1 << 24  # CAP_SYS_RESOURCE, capabilities(7)
_NUMBERS = {
    "core": resource.RLIMIT_CORE,
    "memlock": resource.RLIMIT_MEMLOCK,
    "nofile": resource.RLIMIT_NOFILE,
    "stack": resource.RLIMIT_STACK,
}


def server_ulimits(nofile: int) -> tuple[Ulimit, ...]:
    """Return the ulimits of servers on this machine.

    Args:
        nofile: The site's setting for open files.
    """
    # No file of a crashed process's memory: it would fill a quota, and hold what the memory held.
    wanted = {"core": 0, "memlock": _UNLIMITED, "nofile": nofile, "stack": STACK_BYTES}
    may_raise = can_raise(Path("/proc/self/status").read_text())
    hard = {name: resource.getrlimit(number)[1] for name, number in _NUMBERS.items()}
    return tuple(granted(name, value, None if may_raise else hard[name]) for name, value in wanted.items())


def granted(name: str, wanted: int, most: int | None) -> Ulimit:
    """Return a limit as near to what is wanted as it may be.

    Args:
        name: The limit.
        wanted: -1 is none.
        most: The highest that can be had; None has no end, and neither has -1.
    """
    values = [value for value in (wanted, most) if value is not None and value != _UNLIMITED]
    value = min(values, default=_UNLIMITED)
    return Ulimit(name, value, value)


def can_raise(status: str) -> bool:
    """Say whether a process may raise limits, from the text of its /proc/<pid>/status (proc(5))."""
    found = [line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")]
    return bool(found) and bool(int(found[0], 16) & _MAY_RAISE)
