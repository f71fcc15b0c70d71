"""What is wrong with cards at one instant: pure, from what was read, who holds what, and what the driver reported."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bancada_hub.errors import Told, told
from bancada_hub.gpus.inventory import ABSENT, Card, Cause, Inventory
from bancada_hub.store.incidents import Incident

FREE_BYTES = 64 * 2**20
"""Less than this on a card is what the driver keeps without anybody's program: 1 to 20 MiB on cards of 2020 to 2025."""

XIDS: Mapping[int, Told] = {
    48: told("a memory error that could not be corrected"),
    61: told("its controller stopped"),
    62: told("its controller stopped"),
    64: told("a repair of its memory could not be recorded"),
    74: told("an NVLink failed"),
    79: told("it fell off the bus"),
    94: told("a memory error that ended a program"),
    95: told("a memory error that may have met several programs"),
    119: told("its firmware does not answer"),
    120: told("its firmware stopped"),
    140: told("a memory error that could not be corrected"),
    154: told("the driver asks for a reset or a restart"),
}
"""Errors of the card itself, from NVIDIA's catalogue. All others, 13, 31 and 43 among them, are of a program."""


@dataclass(frozen=True)
class Fault:
    """Something that is wrong.

    Args:
        card: The card's UUID; empty for all cards of the machine.
        cause: What.
        words: The same for people.
        request: The lease that it is about, where it is about one.
        detail: What tells its recovery.
    """

    card: str
    cause: Cause
    words: Told
    request: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same fault at the next look."""
        return (self.card, self.cause.value)


@dataclass(frozen=True)
class Held:
    """A lease that a server has, or had.

    Args:
        request: Its number.
        cards: UUIDs.
        gone: Whether its server has gone.
        beside: Whether other servers are on its card, which is shared: what is on it is not told apart.
        blind: What its server says of cards that it cannot reach any more; None when it says nothing of that kind.
    """

    request: int
    cards: tuple[str, ...]
    gone: bool = False
    beside: bool = False
    blind: Told | None = None

    def occupies(self, found: Inventory, uuid: str) -> bool:
        """Return whether something of it is still on a card that can be read."""
        in_parts = uuid.startswith("MIG-")
        read = any(card.uuid == uuid or (in_parts and card.instances) for card in found.cards)
        return self.gone and not self.beside and read and not is_free(found, uuid)

    def is_over(self, found: Inventory) -> bool:
        """Return whether its server has gone and its cards are seen free."""
        return self.gone and (self.beside or all(is_free(found, uuid) for uuid in self.cards))


@dataclass(frozen=True)
class Xid:
    """An error that the driver reported of a card."""

    card: str
    number: int


def faults_of(found: Inventory, held: Iterable[Held], out: Collection[str] = ()) -> list[Fault]:
    """Return what is wrong now.

    Args:
        found: The cards as they were just read, with those that were expected.
        held: The leases that servers have or had.
        out: UUIDs of cards out of service: one that is taken out of the machine is no news.
    """
    if found.reason:
        return [Fault("", Cause.DRIVER, found.reason)] if found.set_aside else []
    aside = [
        Fault(each.uuid or f"#{each.index}", each.cause, each.reason)
        for each in found.set_aside
        if each.uuid not in out or each.cause is not Cause.MISSING
    ]
    return [*aside, *(fault for card in found.cards for fault in _of_card(card)), *_of_leases(found, held)]


def of_xid(xid: Xid, boot: str) -> Fault | None:
    """Return what an error of the driver amounts to; None for one that a program made."""
    what = XIDS.get(xid.number)
    if what is None:
        return None
    words = told("The driver reported Xid %(xid)s: %(what)s.", xid=xid.number, what=what)
    return Fault(xid.card, Cause.XID, words, detail={"xid": xid.number, "boot": boot})


def over(incident: Incident, found: Inventory, now: Collection[tuple[str, str]], boot: str) -> bool:
    """Return whether an incident has recovered.

    What cannot be looked at is not over: a card that hides behind a failed driver may still wait for its reset.

    Args:
        incident: One that lasts.
        found: The cards as they were just read.
        now: The keys of what is wrong now.
        boot: The name of the machine's present start.
    """
    cause, read = Cause(incident.cause), {card.uuid: card for card in found.cards}
    if cause is Cause.DRIVER:
        return not found.reason
    if found.reason or (incident.card, incident.cause) in now:
        return False
    if cause is Cause.XID:
        card = read.get(incident.card)
        return card is not None and card.health.leasable and incident.detail.get("boot") not in {boot, None}
    if cause in ABSENT:
        absent = {key[0] for key in now if Cause(key[1]) in ABSENT}
        return incident.card not in absent
    if cause in {Cause.REPAIR_WAITS, Cause.REPAIR_FAILED}:
        return incident.card in read
    return True


def is_free(found: Inventory, uuid: str) -> bool:
    """Return whether a card, or a MIG instance, is seen with no program and no memory on it.

    One that is not seen is not free. A MIG instance that is no more is: the driver takes none away while it is in use.

    Args:
        found: The cards as they were just read.
        uuid: Which.
    """
    if found.source == "simulated":
        return True
    for card in found.cards:
        if card.uuid == uuid:
            return card.processes == () and not _much(card.used_bytes)
        for part in card.instances:
            if part.uuid == uuid:
                return not _much(part.used_bytes)
    whole_machine_read = bool(found.cards) and not found.set_aside and not found.reason
    return uuid.startswith("MIG-") and whole_machine_read


def _much(used_bytes: int | None) -> bool:
    return used_bytes is None or used_bytes >= FREE_BYTES


def _of_card(card: Card) -> Iterator[Fault]:
    if card.rows is not None and card.rows.failed:
        yield Fault(card.uuid, Cause.REPAIR_FAILED, card.health.reasons[0])
    elif card.rows is not None and card.rows.pending:
        yield Fault(card.uuid, Cause.REPAIR_WAITS, card.health.reasons[0])


def _of_leases(found: Inventory, held: Iterable[Held]) -> Iterator[Fault]:
    if found.source == "simulated":
        return
    read = {uuid for card in found.cards for uuid in (card.uuid, *(part.uuid for part in card.instances))}
    aside, divided = {each.uuid for each in found.set_aside}, {card.uuid for card in found.cards if card.mig}
    for lease in held:
        for uuid in lease.cards:
            if uuid in divided or (uuid not in read and not aside):
                yield Fault(
                    uuid, Cause.PARTS, told("This card was divided anew (MIG) while it was held."), lease.request
                )
            elif uuid not in read and uuid not in aside:
                words = told("The card that this is a part of does not answer.")
                yield Fault(uuid, Cause.UNREADABLE, words, lease.request)
            elif lease.occupies(found, uuid):
                words = told("The server that held this card has gone, and something is still on the card.")
                yield Fault(uuid, Cause.OCCUPIED, words, lease.request)
            elif lease.blind and not lease.gone:
                words = told("The server that holds this card cannot reach it any more: %(why)s", why=lease.blind)
                yield Fault(uuid, Cause.SERVER, words, lease.request)
