"""Whether a server stands behind the walls that it must stand behind, looked at from the inside before it serves.

An engine does not say when it mounted something else than it was asked for, when its default profile is turned off, or
when a runtime handed out every card. What is seen from here is what a notebook would see.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bancada.contract import RESCUE, StartFailure

VISIBLE_CARDS = "NVIDIA_VISIBLE_DEVICES"
NO_CARDS = frozenset({"", "void", "none"})
_CARD = re.compile(r"nvidia\d+|nvidiactl|nvidia-uvm")
_STATUS = {"CapEff": "0" * 16, "CapPrm": "0" * 16, "CapBnd": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}
_ASK = "Ask an administrator."


@dataclass(frozen=True)
class Seen:
    """What a server sees.

    Args:
        kind: `work` or `rescue`.
        uid: The person's.
        home: The person's home.
        mountinfo: The text of /proc/self/mountinfo.
        status: The text of /proc/self/status.
        devices: The names in /dev.
        cards: What NVIDIA_VISIBLE_DEVICES says; None when it is not set.
    """

    kind: str
    uid: int
    home: str
    mountinfo: str
    status: str
    devices: tuple[str, ...]
    cards: str | None


@dataclass(frozen=True)
class Mounted:
    """One line of mountinfo (proc(5)): what is on top at a path."""

    root: str
    kind: str
    read_only: bool
    options: str


def look(kind: str, home: Path) -> Seen:
    """Read what there is to see."""
    return Seen(
        kind=kind,
        uid=os.getuid(),
        home=str(home),
        mountinfo=Path("/proc/self/mountinfo").read_text(),
        status=Path("/proc/self/status").read_text(),
        devices=tuple(path.name for path in Path("/dev").iterdir()),
        cards=os.environ.get(VISIBLE_CARDS),
    )


def check_walls(seen: Seen) -> StartFailure | None:
    """Return the first wall that is not where it must be."""
    return next(_missing(seen), None)


def mounts(mountinfo: str) -> Mapping[str, Mounted]:
    """Return what is mounted on top at each path."""
    found = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        _id, _parent, _device, root, target, flags = left.split()[:6]
        kind, _source, options = right.split()[:3]
        found[target] = Mounted(root, kind, "ro" in flags.split(","), options)
    return found


def _missing(seen: Seen) -> Iterator[StartFailure]:
    found = mounts(seen.mountinfo)
    for target, source, read_only in _expected(seen):
        mounted = found.get(target)
        if mounted is None or not re.search(source, mounted.root) or mounted.read_only != read_only:
            # An engine whose source could not be reached mounts an empty folder in memory, without a word.
            kind = f"holds {mounted.kind} from {mounted.root}" if mounted else "is not mounted"
            yield StartFailure("mounts", f"{target} {kind}, which is not what the site asked for. {_ASK}")
    env = found.get("/opt/env")
    if seen.kind != RESCUE and not (
        env and re.search(rf"upperdir=[^,]*/overlays/{seen.uid}/[^/,]+/upper(,|$)", env.options)
    ):
        yield StartFailure("mounts", f"/opt/env does not hold your own changes. {_ASK}")
    words = dict(line.split(":\t", 1) for line in seen.status.splitlines() if ":\t" in line)
    for name, value in _STATUS.items():
        if words.get(name, "").strip() != value:
            said = words.get(name, "nothing").strip()
            yield StartFailure("walls", f"The engine started this server with {name} {said} instead of {value}. {_ASK}")
    cards = [name for name in sorted(seen.devices) if _CARD.fullmatch(name)]
    if cards and (seen.cards or "") in NO_CARDS:
        yield StartFailure("cards", f"The server sees {', '.join(cards)} and has no lease of a card. {_ASK}")


def _expected(seen: Seen) -> tuple[tuple[str, str, bool], ...]:
    """Return path, end of what must be mounted there, and whether it must be read-only.

    Above these ends any folder may be a file system of its own; data sets may be one themselves.
    """
    return (
        (seen.home, rf"/{seen.uid}$", False),
        ("/project", r"/files$", False),
        ("/state", rf"/{seen.uid}$", False),
        ("/data", "", True),
        ("/examples", r"/examples$", True),
        ("/opt/bancada", r"/server-[^/]+$", True),
    )
