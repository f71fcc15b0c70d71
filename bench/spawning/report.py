"""Pairs, medians and ratios, as lines of text."""

import platform
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

Write = Callable[[str], object]


@dataclass(frozen=True)
class Goal:
    """What the median of the ratios of all rounds must be.

    Args:
        name: The comparison.
        limit: The bound.
        at_most: Whether the ratio may not be above it; else not below.
    """

    name: str
    limit: float
    at_most: bool

    def met(self, ratio: float) -> bool:
        """Say whether a ratio meets it."""
        return ratio <= self.limit if self.at_most else ratio >= self.limit

    def verdict(self, ratio: float) -> str:
        """Return the line that says so."""
        words = "at most" if self.at_most else "at least"
        return f"{self.name}: {ratio:.2f}, goal {words} {self.limit}: {'met' if self.met(ratio) else 'NOT MET'}"


def show_rounds(write: Write, columns: Mapping[str, Sequence[float]], unit: str) -> None:
    """Write one line a round and the medians."""
    names = list(columns)
    write("round  " + "  ".join(f"{name:>17}" for name in names) + f"   ({unit})\n")
    for number, values in enumerate(zip(*columns.values(), strict=True), 1):
        write(f"{number:>5}  " + "  ".join(f"{value:>17.2f}" for value in values) + "\n")
    write("median " + "  ".join(f"{statistics.median(columns[name]):>17.2f}" for name in names) + "\n")


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Return the ratio of each round."""
    return [one / other for one, other in zip(above, below, strict=True)]


def machine(engine: dict[str, Any]) -> str:
    """Return the machine and the versions that were measured.

    Args:
        engine: The engine's own answer to /version.
    """
    memory = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    cores = subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout.strip()
    versions = " ".join(f"{name} {version(name)}" for name in ("jupyterhub", "dockerspawner", "docker"))
    load = Path("/proc/loadavg").read_text().split()[0]
    return (
        f"machine: {cores} cores, {int(memory.split()[1]) / 1024**2:.1f} GiB, Linux {platform.release()}, load {load}\n"
        f"versions: engine {engine['Version']}, Python {platform.python_version()}, {versions}\n"
    )
