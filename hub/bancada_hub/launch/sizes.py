"""How large a server can be: three sizes, made of the site's settings and bounded by the machine. Pure.

M is what the settings say, S half of it, L the double. None is larger than what the machine has for servers, so that
each can start while nothing else runs. Which of them fit at this instant: `launch.room.read_offers`.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from bancada_hub.host.machine import Machine
from bancada_hub.site import GIB, ServerSettings

Size: TypeAlias = Literal["s", "m", "l"]
SIZES: tuple[Size, ...] = get_args(Size)
USUAL: Size = "m"

MIB = 1024**2
RESERVE_BYTES, RESERVE_SHARE = 2 * GIB, 0.1
"""What stays for the machine itself, unless the settings say otherwise: the larger of the two."""

_TIMES: dict[Size, float] = {"s": 0.5, "m": 1.0, "l": 2.0}
_ROUNDED_BYTES = 64 * MIB


@dataclass(frozen=True)
class Ulimit:
    """A limit of setrlimit(2); -1 is none."""

    name: str
    soft: int
    hard: int


@dataclass(frozen=True)
class Limits:
    """What a server may use."""

    cpus: float
    memory_bytes: int
    shm_bytes: int
    pids: int
    ulimits: tuple[Ulimit, ...]


@dataclass(frozen=True)
class Sizes:
    """The limits of each size."""

    s: Limits
    m: Limits
    l: Limits  # noqa: E741 - the size's name

    def of(self, size: Size) -> Limits:
        """Return the limits of a size."""
        return {"s": self.s, "m": self.m, "l": self.l}[size]


@dataclass(frozen=True)
class Capacity:
    """What servers may hold together.

    Args:
        memory_bytes: The sum of their memory limits: the machine's memory less a reserve.
        cpus: The sum of their CPU limits: the machine's cores, as often as the settings over-commit them.
    """

    memory_bytes: int
    cpus: float


def capacity(settings: ServerSettings, machine: Machine) -> Capacity:
    """Return what servers may hold together on a machine."""
    if settings.memory_reserve_gib is None:
        reserve = max(RESERVE_BYTES, int(machine.memory_bytes * RESERVE_SHARE))
    else:
        reserve = int(settings.memory_reserve_gib * GIB)
    # On a small machine, half of it stays for servers: a reserve that leaves nothing would only say “never”.
    left = max(machine.memory_bytes - reserve, machine.memory_bytes // 2)
    return Capacity(left, machine.cores * settings.cpu_overcommit)


def sizes(settings: ServerSettings, machine: Machine, ulimits: tuple[Ulimit, ...]) -> Sizes:
    """Return the sizes of servers on a machine.

    Args:
        settings: The site's.
        machine: What there is. An engine refuses more cores for a container than the machine has.
        ulimits: Of every server.
    """
    most = capacity(settings, machine)

    def limits(size: Size) -> Limits:
        wanted = int(settings.memory_gib * GIB * _TIMES[size])
        memory_bytes = min(wanted, most.memory_bytes // _ROUNDED_BYTES * _ROUNDED_BYTES or most.memory_bytes)
        return Limits(
            cpus=min(settings.cpus * _TIMES[size], machine.cores, most.cpus),
            memory_bytes=memory_bytes,
            shm_bytes=int(memory_bytes * settings.shm_ratio),
            pids=settings.pids,
            ulimits=ulimits,
        )

    return Sizes(limits("s"), limits("m"), limits("l"))


def default_size(last: str) -> Size:
    """Return the size of a start that names none: the one before, else the usual.

    Args:
        last: What the member last started with; empty before the first start.
    """
    return next((size for size in SIZES if size == last), USUAL)
