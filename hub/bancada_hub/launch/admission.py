"""Whether there is room for one more server: pure sums of what is held, and the words for when there is none.

Three sums are kept: of the whole machine, of the project, and of its lab. A server counts with its limits from the
instant its start is admitted, whatever it uses of them: what is not held by anybody is there for whoever comes next.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import fsum

from bancada_hub.amounts import Bytes, Cores
from bancada_hub.errors import Told, joined, told
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.sizes import SIZES, Limits, Size, Sizes
from bancada_hub.store.servers import HeldServer

NAMED = 5
"""How many servers a refusal names at most."""

_CORE_ROUNDING = 1e-6


@dataclass(frozen=True)
class Ceiling:
    """What servers may hold together; None is as much as there is."""

    memory_bytes: int | None = None
    cpus: float | None = None


@dataclass(frozen=True)
class Asker:
    """Whose start is decided about.

    Args:
        person_id: The person.
        project_id: The project.
        project: The project's short name.
        lab_id: Its lab; None for a personal project.
        sees: The projects of which the person may know who works in them.
    """

    person_id: int
    project_id: int
    project: str
    lab_id: int | None = None
    sees: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Situation:
    """What a decision depends on, besides what is asked for.

    Args:
        asker: Whose start it is.
        machine: What all servers may hold.
        project: What those of the project may hold.
        lab: What those of its lab may hold.
        held: All servers.
    """

    asker: Asker
    machine: Ceiling
    project: Ceiling = Ceiling()
    lab: Ceiling = Ceiling()
    held: tuple[HeldServer, ...] = ()

    @property
    def others(self) -> tuple[HeldServer, ...]:
        """All servers but the one that the asker has in this project: a new start takes its place."""
        mine = (self.asker.person_id, self.asker.project_id)
        return tuple(server for server in self.held if (server.person_id, server.project_id) != mine)


@dataclass(frozen=True)
class NoRoom:
    """Why a start does not fit, and what to do."""

    what: Told
    fix: Told
    reason: Reason


@dataclass(frozen=True)
class _Sum:
    """One sum that a start must stay under."""

    reason: Reason
    most: Bytes | Cores
    asked: Bytes | Cores
    servers: tuple[HeldServer, ...]

    @property
    def free(self) -> Bytes | Cores:
        taken = [self.of(server) for server in self.servers]
        if isinstance(self.most, Bytes):
            return Bytes(max(self.most - sum(taken), 0))
        return Cores(max(self.most - fsum(taken), 0.0))

    @property
    def fits(self) -> bool:
        slack = 0 if isinstance(self.most, Bytes) else _CORE_ROUNDING
        return self.asked <= self.free + slack

    def of(self, server: HeldServer) -> Bytes | Cores:
        return Bytes(server.memory_bytes) if isinstance(self.most, Bytes) else Cores(server.cpus)

    def total(self, servers: Iterable[HeldServer]) -> Bytes | Cores:
        held = [self.of(server) for server in servers]
        return Bytes(sum(held)) if isinstance(self.most, Bytes) else Cores(fsum(held))


def decide(size: Size, sizes: Sizes, situation: Situation) -> NoRoom | None:
    """Decide whether a server may start.

    Args:
        size: What is asked for.
        sizes: What each size takes.
        situation: What is held, and what may be.

    Returns:
        Why not, in words; None when it may.
    """
    broken = next((each for each in _sums(sizes.of(size), situation) if not each.fits), None)
    if broken is None:
        return None
    return NoRoom(
        joined(_why(size, broken, situation), *_holders(broken, situation)),
        _advice(size, sizes, situation),
        broken.reason,
    )


def fits(limits: Limits, situation: Situation) -> bool:
    """Return whether a server of these limits may start."""
    return all(each.fits for each in _sums(limits, situation))


def _sums(limits: Limits, situation: Situation) -> Iterator[_Sum]:
    asker, others = situation.asker, situation.others
    project = tuple(server for server in others if server.project_id == asker.project_id)
    lab = tuple(server for server in others if asker.lab_id is not None and server.lab_id == asker.lab_id)
    scopes = (
        (Reason.PROJECT_CEILING, situation.project, project),
        (Reason.LAB_CEILING, situation.lab, lab),
        (Reason.NO_ROOM, situation.machine, others),
    )
    for reason, ceiling, servers in scopes:
        if ceiling.memory_bytes is not None:
            yield _Sum(reason, Bytes(ceiling.memory_bytes), Bytes(limits.memory_bytes), servers)
        if ceiling.cpus is not None:
            yield _Sum(reason, Cores(ceiling.cpus), Cores(limits.cpus), servers)


def _why(size: Size, broken: _Sum, situation: Situation) -> Told:
    values = {
        "size": size.upper(),
        "asked": _amount(broken.asked),
        "free": _short(broken.free),
        "all": _short(broken.most),
        "project": situation.asker.project,
    }
    never = broken.asked > broken.most
    if broken.reason is Reason.PROJECT_CEILING:
        if never:
            return told("Size %(size)s takes %(asked)s, and the project “%(project)s” may hold %(all)s.", **values)
        return told(
            "The project “%(project)s” has no room for size %(size)s, which takes %(asked)s: of the %(all)s that it "
            "may hold, %(free)s are left.",
            **values,
        )
    if broken.reason is Reason.LAB_CEILING:
        if never:
            return told("Size %(size)s takes %(asked)s, and the projects of this lab may hold %(all)s.", **values)
        return told(
            "This lab has no room for size %(size)s, which takes %(asked)s: of the %(all)s that its projects may hold, "
            "%(free)s are left.",
            **values,
        )
    return told(
        "There is no room for size %(size)s now, which takes %(asked)s: of the %(all)s for servers, %(free)s are left.",
        **values,
    )


def _holders(broken: _Sum, situation: Situation) -> list[Told]:
    """Say who holds what, as far as the asker may know; all others are a number."""
    asker = situation.asker
    known = [each for each in broken.servers if each.person_id == asker.person_id or each.project_id in asker.sees]
    # The asker's own first, which they can stop, then the largest.
    known.sort(key=lambda each: (each.person_id != asker.person_id, -broken.of(each), each.begun_at))
    named = known[:NAMED]
    rest = [each for each in broken.servers if each not in named]
    said = [_held(each, broken, asker) for each in named]
    amount = _short(broken.total(rest))
    if len(rest) == 1:
        said.append(told("Another server holds %(amount)s.", amount=amount))
    elif rest:
        said.append(told("Others hold %(amount)s in %(n)d servers.", amount=amount, n=len(rest)))
    return said


def _held(server: HeldServer, broken: _Sum, asker: Asker) -> Told:
    amount = _short(broken.of(server))
    if server.person_id == asker.person_id:
        return told("You hold %(amount)s in “%(title)s”.", amount=amount, title=_title(server))
    name = server.display_name or server.person_name
    return told("%(name)s holds %(amount)s in “%(title)s”.", name=name, amount=amount, title=server.project_title)


def _advice(size: Size, sizes: Sizes, situation: Situation) -> Told:
    """Say what would help, the least first: a smaller size, stopping a server of one's own, or asking somebody."""
    smaller = [each for each in SIZES[: SIZES.index(size)] if fits(sizes.of(each), situation)]
    stoppable = _stoppable(sizes.of(size), situation)
    if smaller and stoppable:
        return told(
            "Choose size %(size)s, or stop your server in “%(title)s” first.", size=smaller[-1].upper(), title=stoppable
        )
    if smaller:
        return told("Choose size %(size)s, which fits now.", size=smaller[-1].upper())
    if stoppable:
        return told("Stop your server in “%(title)s” first.", title=stoppable)
    broken = [each for each in _sums(sizes.of(size), situation) if not each.fits]
    never = any(each.asked > each.most for each in broken)
    if any(each.reason is Reason.LAB_CEILING for each in broken):
        if never:
            return told("Ask an administrator to raise the lab's limit.")
        return told("Wait until a server is stopped, or ask an administrator to raise the lab's limit.")
    if any(each.reason is Reason.PROJECT_CEILING for each in broken):
        if never:
            return told("Ask a lead of the project to raise its limit.")
        return told("Wait until a server is stopped, or ask a lead of the project to raise its limit.")
    return told("Wait until a server is stopped, or ask somebody who does not need theirs to stop it.")


def _stoppable(limits: Limits, situation: Situation) -> str:
    """Return the project of the asker's own server whose end would make room, the smallest such; empty when none."""
    asker = situation.asker
    own = [each for each in situation.others if each.person_id == asker.person_id]
    for server in sorted(own, key=lambda each: each.memory_bytes):
        without = tuple(each for each in situation.held if each != server)
        after = Situation(asker, situation.machine, situation.project, situation.lab, without)
        if fits(limits, after):
            return _title(server)
    return ""


def _title(server: HeldServer) -> str:
    """Return what pages call the project of one's own server."""
    return told("Personal") if server.personal else server.project_title


def _amount(amount: Bytes | Cores) -> object:
    return told("%(amount)s of memory", amount=amount) if isinstance(amount, Bytes) else _short(amount)


def _short(amount: Bytes | Cores) -> object:
    """Return an amount whose kind has been said before."""
    if isinstance(amount, Bytes):
        return amount
    return told("1 core") if str(amount) == "1" else told("%(amount)s cores", amount=amount)
