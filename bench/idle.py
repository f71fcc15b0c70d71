"""Resident memory of a site's own programs while nobody works: hub, console and proxy, against the goal.

    .venv/bin/python bench/idle.py --data DIR

Each program is counted with its children. The number is PSS (proportional set size, from smaps_rollup): memory that
programs share is divided among them, so that the sum is what the site costs the machine; RSS counts it again for each.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from bancada_hub.errors import BancadaError
from bancada_hub.host.services import services_for
from bancada_hub.installation import read_installation
from bancada_hub.site import default_data_directory

GOAL_MIB = 320
NAMES = ("hub", "console", "proxy")
MIB = 1024**2


@dataclass(frozen=True)
class Memory:
    """What one program takes, children included.

    Args:
        name: The program.
        processes: How many processes it is.
        pss_bytes: Its memory, what it shares divided among those who share it.
        rss_bytes: Its memory, what it shares counted in full.
    """

    name: str
    processes: int
    pss_bytes: int
    rss_bytes: int


def measure(data: Path) -> list[Memory]:
    """Read the memory of a running site's programs.

    Raises:
        BancadaError: There is no site, or one of its programs does not run.
    """
    installation = read_installation(data)
    states = {
        state.name: state for state in services_for(installation.facts.site_id, installation.places.site).status()
    }
    return [_memory(name, states[name].pid if name in states else None) for name in NAMES]


def _memory(name: str, pid: int | None) -> Memory:
    if pid is None:
        raise BancadaError(f"The {name} does not run.", fix="./bancada up")
    program = psutil.Process(pid)
    read = [process.memory_full_info() for process in (program, *program.children(recursive=True))]
    return Memory(name, len(read), sum(info.pss for info in read), sum(info.rss for info in read))


def show(found: list[Memory], write: Callable[[str], object]) -> bool:
    """Write a line a program and the total; say whether the goal is met."""
    write(f"{'program':<10} {'processes':>9} {'PSS MiB':>9} {'RSS MiB':>9}\n")
    total = Memory(
        "total", *(sum(getattr(one, key) for one in found) for key in ("processes", "pss_bytes", "rss_bytes"))
    )
    for one in (*found, total):
        write(f"{one.name:<10} {one.processes:>9} {one.pss_bytes / MIB:>9.1f} {one.rss_bytes / MIB:>9.1f}\n")
    met = total.pss_bytes <= GOAL_MIB * MIB
    write(f"Goal: {GOAL_MIB} MiB together (PSS), {'met' if met else 'not met'}.\n")
    write("PSS from smaps_rollup: shared memory is divided among those who share it; children are included.\n")
    return met


def main() -> int:
    """Measure the site that the options name; the exit status says whether the goal is met."""
    parser = argparse.ArgumentParser(description="Resident memory of hub, console and proxy together.")
    parser.add_argument("--data", type=Path, default=default_data_directory(), help="the site's data directory")
    try:
        return 0 if show(measure(parser.parse_args().data.absolute()), sys.stdout.write) else 1
    except BancadaError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
