"""Reads the inventory through a worker process with a deadline: a card that hangs is set aside, the rest go on.

A call into a sick driver can take minutes, and cannot be interrupted in this process. The worker says before each
step what it is about to do; when a line is late it is ended, and another reads on without that card.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bancada_hub.errors import Told, told
from bancada_hub.gpus.inventory import Card, Cause, Inventory, SetAside, card_from

START_S = 15.0
"""For the worker's start and the driver's: without persistence mode a machine of eight cards takes some seconds."""
CARD_S = 5.0
DRIVER_FILE = "proc/driver/nvidia/version"
LIBRARY_MISSING, MISMATCH, NOT_LOADED, NO_PERMISSION, LOST, UNKNOWN = 12, 18, 9, 4, 15, 999


@dataclass(frozen=True)
class Deadlines:
    """How long to wait for a step, in seconds.

    Args:
        start_s: Until the driver has answered at all.
        card_s: Until a card has been read.
    """

    start_s: float = START_S
    card_s: float = CARD_S


@dataclass
class _Reading:
    """What has been said so far; `step` is what was begun and did not end."""

    step: int | str = "init"
    driver: str | None = None
    failure: dict[str, Any] | None = None
    cards: dict[int, Card] = field(default_factory=dict)
    aside: dict[int, SetAside] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    done: bool = False

    @property
    def left_out(self) -> list[str]:
        read = {index: f"{index}={card.uuid}" for index, card in self.cards.items()}
        return [*read.values(), *map(str, self.aside)]

    def patience_s(self, deadlines: Deadlines) -> float:
        return deadlines.card_s if isinstance(self.step, int) else deadlines.start_s


def read_inventory(
    root: Path = Path("/"), deadlines: Deadlines | None = None, environment: Mapping[str, str] | None = None
) -> Inventory:
    """Read all cards of this machine.

    Args:
        root: Where the machine's files are, another folder in tests.
        deadlines: How long to wait.
        environment: More variables for the worker.

    Returns:
        The cards; or, in words, why there is none.
    """
    reading = _Reading()
    while True:
        before = reading.left_out
        hung = _run_worker(reading, deadlines or Deadlines(), {**os.environ, **(environment or {})})
        if reading.done or reading.failure:
            break
        if hung and isinstance(reading.step, int):
            said = told("NVML is not answering on this card: it took longer than the deadline.")
            reading.aside[reading.step] = SetAside(reading.step, reading.names.get(reading.step), said, Cause.SILENT)
        elif hung or reading.left_out == before:
            return Inventory(reason=_silent(hung=hung))
    if reading.failure:
        return Inventory(reason=words_for(reading.failure, loaded_driver(root)))
    cards = [reading.cards[index] for index in sorted(reading.cards)]
    aside = [reading.aside[index] for index in sorted(reading.aside)]
    return Inventory(tuple(_both_ways(cards)), tuple(aside), reading.driver)


def _run_worker(reading: _Reading, deadlines: Deadlines, environment: dict[str, str]) -> bool:
    """Let a worker read what is left; returns whether it hung."""
    command = [sys.executable, "-I", "-m", "bancada_hub.gpus.worker", *reading.left_out]
    worker = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    )
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(worker, lines), daemon=True).start()
    reading.step = "init"
    try:
        while line := lines.get(timeout=reading.patience_s(deadlines)):
            _note(reading, json.loads(line))
    except queue.Empty:
        return True
    finally:
        worker.kill()
        threading.Thread(target=worker.wait, daemon=True).start()  # one that the kernel holds ends when it lets go
    return False


def _listen(worker: "subprocess.Popen[str]", lines: "queue.Queue[str]") -> None:
    assert worker.stdout is not None  # noqa: S101 - it was asked for above
    with worker.stdout as output:
        for line in output:
            lines.put(line)
    lines.put("")


def _note(reading: _Reading, line: dict[str, Any]) -> None:
    if "failed" in line:
        reading.failure = line
    elif "step" in line:
        reading.step = line["step"]
    elif "named" in line:
        reading.names[line["named"]] = line["uuid"]
    elif "driver" in line:
        reading.driver = line["driver"]
    elif "found" in line:
        found = line["found"]
        if found["error"] is None:
            reading.cards[found["index"]] = card_from(found["card"])
        else:
            cause = Cause.LOST if found["error"] == LOST else Cause.UNREADABLE
            reading.aside[found["index"]] = SetAside(found["index"], found["uuid"], _card_words(found), cause)
        reading.step = "next"
    else:
        reading.done = True


def _both_ways(cards: list[Card]) -> list[Card]:
    """Give each card the levels to all others: a worker asks each pair once."""
    levels = {(card.uuid, other): level for card in cards for other, level in card.near}
    levels |= {(other, one): level for (one, other), level in levels.items()}
    return [
        replace(
            card,
            near=tuple((each.uuid, levels[card.uuid, each.uuid]) for each in cards if (card.uuid, each.uuid) in levels),
        )
        for card in cards
    ]


def _card_words(found: Mapping[str, Any]) -> Told:
    if found["error"] == LOST:
        return told("This card fell off the bus: the machine must be restarted to get it back.")
    return told("The driver does not read this card: %(words)s.", words=found["words"])


def _silent(*, hung: bool) -> Told:
    if hung:
        return told("The NVIDIA driver of this host did not answer within its deadline.")
    return told("The program that asks the NVIDIA driver ended without an answer.")


def loaded_driver(root: Path) -> str | None:
    """Return the version of the driver that the kernel has loaded; None without one."""
    try:
        first = (root / DRIVER_FILE).read_text(encoding="ascii", errors="replace").splitlines()[0]
    except (OSError, IndexError):
        return None
    words = first.split()
    return next((word for word in words if word.count(".") >= 1 and word.replace(".", "").isdigit()), None)


def words_for(failure: Mapping[str, Any], loaded: str | None) -> Told:
    """Return why no card could be read, for a person.

    Args:
        failure: What the worker said.
        loaded: The version of the driver in the kernel, if there is one.
    """
    if failure["failed"] == "bindings":
        return told("NVIDIA's library cannot be asked: %(words)s.", words=failure["words"])
    code = failure["error"]
    if code == LIBRARY_MISSING:
        if loaded:
            return told(
                "The NVIDIA driver %(version)s is loaded, but libnvidia-ml.so.1 was not found. "
                "In a container, NVIDIA_DRIVER_CAPABILITIES must have “utility”.",
                version=loaded,
            )
        return told("No NVIDIA driver on this host (libnvidia-ml.so.1 not found)")
    if code == MISMATCH:
        library = (failure.get("library") or "").partition(".")[2] or "?"
        return told(
            "The NVIDIA driver in the kernel is %(loaded)s and its library is %(library)s: the machine must be "
            "restarted. What runs goes on; nothing new can use a card.",
            loaded=loaded or "?",
            library=library,
        )
    if code == NOT_LOADED:
        return told("The NVIDIA driver is installed on this host, but not loaded. Load it: modprobe nvidia")
    if code == UNKNOWN:
        return told(
            "The NVIDIA driver of this host answers “Unknown Error”. In a container, its cards were taken away, as a "
            "reload of systemd does: restart it."
        )
    return told("The NVIDIA driver of this host does not answer: %(words)s.", words=failure["words"])
