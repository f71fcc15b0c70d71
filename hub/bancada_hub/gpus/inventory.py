"""What a machine has of cards, as frozen values keyed by UUID: pure, and the same wherever it was read.

A card's number changes between starts of a machine and with CUDA_VISIBLE_DEVICES; its UUID never does. What could not
be read is None, with the reason in `unread`: never 0.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from bancada_hub.errors import HostError, Told, told

LEAST_PREFIX = 8
"""Characters of a UUID that name a card, `GPU-` or `MIG-` included or not."""


class State(StrEnum):
    """How a card is."""

    GOOD = "good"
    ATTENTION = "attention"
    BAD = "bad"
    UNKNOWN = "unknown"


class Cause(StrEnum):
    """What can be wrong with a card; those of ABSENT mean that it cannot be read at all."""

    LOST = "lost"
    MISSING = "missing"
    SILENT = "silent"
    UNREADABLE = "unreadable"
    DRIVER = "driver"
    REPAIR_WAITS = "repair-waits"
    REPAIR_FAILED = "repair-failed"
    XID = "xid"
    PARTS = "parts-changed"
    OCCUPIED = "occupied"
    SERVER = "lost-by-server"


ABSENT = frozenset({Cause.LOST, Cause.MISSING, Cause.SILENT, Cause.UNREADABLE})


@dataclass(frozen=True)
class Health:
    """A verdict on a card.

    Args:
        state: How it is.
        reasons: Why, each a sentence; those of a good card are remarks.
        leasable: Whether it may be given to anybody new.
    """

    state: State
    reasons: tuple[Told, ...] = ()
    leasable: bool = True


@dataclass(frozen=True)
class Rows:
    """Rows of a card's memory that it replaced by spare ones.

    Args:
        corrected: After errors that were corrected.
        uncorrected: After errors that were not.
        pending: Whether a replacement waits for a reset of the card.
        failed: Whether one could not be made.
    """

    corrected: int
    uncorrected: int
    pending: bool
    failed: bool


@dataclass(frozen=True)
class Instance:
    """A MIG instance: a part of a card, with a UUID of its own.

    Args:
        uuid: Its name.
        name: Its size, as the driver says it.
        memory_bytes: Its memory.
        used_bytes: What of it is used; a card in MIG mode reports no other use.
    """

    uuid: str
    name: str | None = None
    memory_bytes: int | None = None
    used_bytes: int | None = None


@dataclass(frozen=True)
class Card:
    """A card.

    Args:
        uuid: Its name, which no other card has.
        index: The driver's number for it now; for messages beside other tools', never to address it.
        model: What it is called.
        memory_bytes: How much memory it has.
        used_bytes: What of it is used, without what the driver keeps for itself.
        reserved_bytes: What the driver keeps for itself.
        pci: Where it sits on the bus.
        numa_node: The memory node that it is near.
        capability: Its compute capability, as in "8.0".
        mig: Whether it is in MIG mode.
        instances: Its MIG instances.
        use_ratio: How busy it was just now, from 0 to 1; None for a card in MIG mode, which does not say.
        uncorrected_errors: Memory errors since ever that ECC did not correct.
        rows: Rows of its memory that were replaced.
        processes: Numbers of the host's processes on it.
        near: How it reaches other cards: (UUID, NVML's level from 0, itself, to 50, across the machine).
        nvlinks: Bus places that its NVLinks lead to.
        unread: What could not be read, and why, in the driver's words.
    """

    uuid: str
    index: int
    model: str | None = None
    memory_bytes: int | None = None
    used_bytes: int | None = None
    reserved_bytes: int | None = None
    pci: str | None = None
    numa_node: int | None = None
    capability: str | None = None
    mig: bool | None = None
    instances: tuple[Instance, ...] = ()
    use_ratio: float | None = None
    uncorrected_errors: int | None = None
    rows: Rows | None = None
    processes: tuple[int, ...] | None = None
    near: tuple[tuple[str, int], ...] = ()
    nvlinks: tuple[str, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def health(self) -> Health:
        """The verdict on it, from what was read."""
        return judge(self.rows, self.uncorrected_errors)

    def why(self, name: str) -> str:
        """Return why a value is None; empty when it was read."""
        return dict(self.unread).get(name, "")


@dataclass(frozen=True)
class SetAside:
    """A card that is there, or was, and cannot be used.

    Args:
        index: The driver's number for it; None for one that the driver no longer counts.
        uuid: Its name, where that is known.
        reason: Why.
        cause: The same as a fixed word.
    """

    index: int | None
    uuid: str | None
    reason: Told
    cause: Cause = Cause.UNREADABLE


@dataclass(frozen=True)
class Inventory:
    """A machine's cards.

    Args:
        cards: Those that answered, in the driver's order.
        set_aside: Those that did not.
        driver: The driver's version.
        reason: Why no card could be read at all.
        source: Where this was read: `nvml`, or `simulated` for cards that are none.
    """

    cards: tuple[Card, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    driver: str | None = None
    reason: Told | None = None
    source: Literal["nvml", "simulated"] = "nvml"

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        shown: dict[str, Any] = {"cards": [card_json(card) for card in self.cards]}
        if self.reason:
            return {**shown, "reason": self.reason}
        return {
            "source": self.source,
            **shown,
            "set_aside": [asdict(each) for each in self.set_aside],
            "driver": self.driver,
        }


def card_json(card: Card) -> dict[str, Any]:
    """Return a card for programs."""
    return {**asdict(card), "near": dict(card.near), "unread": dict(card.unread), "health": asdict(card.health)}


def judge(rows: Rows | None, uncorrected_errors: int | None) -> Health:
    """Return how a card's memory is: a count of errors alone does not make it bad, a repair that waits or failed does.

    Args:
        rows: What was replaced; None when the card does not say, as those before Ampere.
        uncorrected_errors: Errors that were not corrected; None when the card does not say.
    """
    if rows is None:
        if uncorrected_errors is None:
            return Health(State.UNKNOWN, (told("This card reports neither memory errors nor repairs."),))
        said = told("This card does not report repairs of its memory.")
        return Health(State.GOOD if uncorrected_errors == 0 else State.UNKNOWN, (said,))
    if rows.failed:
        said = told("A repair of its memory failed: take the card out of service and have it replaced.")
        return Health(State.BAD, (said,), leasable=False)
    if rows.pending:
        said = told("A repair of its memory waits: the card needs a reset before anybody new gets it.")
        return Health(State.ATTENTION, (said,), leasable=False)
    if rows.uncorrected:
        said = told("%(n)s rows of its memory were repaired; nothing waits.", n=rows.uncorrected)
        return Health(State.GOOD, (said,))
    return Health(State.GOOD)


def with_expected(inventory: Inventory, expected: Iterable[str]) -> Inventory:
    """Return an inventory that names the cards which were there before and are not counted any more.

    Some losses leave no error anywhere: only the comparison shows them. A card that hung before it said its name is
    named by it too, when there is only one that it can be.

    Args:
        inventory: What was read.
        expected: UUIDs of cards that were there before.
    """
    if inventory.source == "simulated":
        return inventory
    if inventory.reason:
        silent = (SetAside(None, uuid, inventory.reason, Cause.DRIVER) for uuid in sorted(set(expected)))
        return replace(inventory, set_aside=tuple(silent))
    known = {card.uuid for card in inventory.cards} | {each.uuid for each in inventory.set_aside}
    gone = sorted(set(expected) - known)
    nameless = [each for each in inventory.set_aside if each.uuid is None]
    if len(nameless) == len(gone) == 1:
        named = replace(nameless[0], uuid=gone[0])
        return replace(inventory, set_aside=tuple(named if each.uuid is None else each for each in inventory.set_aside))
    said = told("The driver no longer finds this card, which was there before.")
    missing = tuple(SetAside(None, uuid, said, Cause.MISSING) for uuid in gone)
    return replace(inventory, set_aside=inventory.set_aside + missing)


def resolve(inventory: Inventory, wanted: str) -> Card:
    """Return the card that a UUID, the beginning of one, or a MIG instance's UUID names.

    Raises:
        HostError: No card has it, or more than one; never the card that merely has this number.
    """
    names = [(name, card) for card in inventory.cards for name in (card.uuid, *(each.uuid for each in card.instances))]
    asked = wanted.lower()
    exact = [card for name, card in names if name.lower() == asked]
    prefixed = [card for name, card in names if asked in _beginnings(name.lower(), len(asked))]
    found = exact or (list(dict.fromkeys(prefixed)) if len(asked) >= LEAST_PREFIX else [])
    if len(found) == 1:
        return found[0]
    there = ", ".join(card.uuid for card in inventory.cards) or "-"
    if found:
        several = told("More than one card begins with %(uuid)s.", uuid=wanted)
        raise HostError(several, fix=told("Give more of it: %(there)s", there=there))
    what = told("There is no card %(uuid)s.", uuid=wanted)
    raise HostError(what, fix=inventory.reason or told("The cards are: %(there)s", there=there))


def _beginnings(name: str, length: int) -> tuple[str, str]:
    return name[:length], name.partition("-")[2][:length]


@dataclass(frozen=True)
class Finding:
    """What a worker said of one card: the card, or why there is none. Crosses between processes as JSON."""

    index: int
    uuid: str | None = None
    error: int | None = None
    words: str = ""
    card: dict[str, Any] = field(default_factory=dict)


def card_from(values: dict[str, Any]) -> Card:
    """Return a card from what a worker wrote."""
    known = {
        **values,
        "instances": tuple(Instance(**each) for each in values["instances"]),
        "rows": Rows(**values["rows"]) if values["rows"] else None,
        "processes": None if values["processes"] is None else tuple(values["processes"]),
        "near": tuple((str(uuid), int(level)) for uuid, level in values["near"]),
        "nvlinks": tuple(values["nvlinks"]),
        "unread": tuple((str(name), str(why)) for name, why in values["unread"]),
    }
    return Card(**known)
