"""The cards as the scheduler sees them: what was read of the machine, what administrators decided, what has failed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from bancada_hub.gpus import inventory
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Card, Health, Mark

SAME_SWITCH = 20
"""NVML's level of two cards that one or several switches join without the processor (NVML_TOPOLOGY_MULTIPLE)."""

ALL = ""
"""Stands for all cards of the machine where a UUID would stand."""


@dataclass(frozen=True)
class Decided:
    """What an administrator decided about a card, in the scheduler's terms.

    Args:
        out: Nobody new gets it.
        tenants: How many may hold it at once.
        reserved: Whether it is kept for some projects.
        projects: For which.
    """

    out: bool = False
    tenants: int = 1
    reserved: bool = False
    projects: frozenset[int] = frozenset()


UNDECIDED = Decided()


@dataclass(frozen=True)
class Kept:
    """What the site knows of its cards beside what can be read of them.

    Args:
        decided: By UUID, of a card or a MIG instance.
        failed: UUIDs of cards that nobody new gets until an incident is over; ALL for every card.
        memory: Bytes of memory by UUID, for cards that do not answer.
    """

    decided: Mapping[str, Decided] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    memory: Mapping[str, int] = field(default_factory=dict)


NOTHING = Kept()


def scheduling_cards(found: Inventory, kept: Kept = NOTHING) -> tuple[Card, ...]:
    """Return what leases can hold: whole cards, or the parts of a card in MIG mode.

    Args:
        found: What was read. A card whose memory could not be read counts as one without any.
        kept: What is known beside.
    """
    cards = [each for card in found.cards for each in (_parts(card) if card.mig else [_whole(card)])]
    lost = [Card(each.uuid, kept.memory.get(each.uuid, 0), health=Health.LOST) for each in found.set_aside if each.uuid]
    return tuple(_with_kept(card, kept) for card in cards + lost)


def _with_kept(card: Card, kept: Kept) -> Card:
    """Return a card as it is held against what is known beside; a part follows its card."""
    own = kept.decided.get(card.uuid, UNDECIDED)
    parent = kept.decided.get(card.parent, UNDECIDED) if card.parent else UNDECIDED
    reserving = own if own.reserved else parent
    mark = Mark.OUT if own.out or parent.out else Mark.RESERVED if reserving.reserved else Mark.NORMAL
    failed = not kept.failed.isdisjoint({ALL, card.uuid, card.parent or card.uuid})
    return replace(
        card,
        tenants=own.tenants if not card.profile else 1,
        mark=mark,
        reserved_for=reserving.projects,
        health=Health.ATTENTION if failed and card.health is Health.GOOD else card.health,
    )


def _whole(card: inventory.Card) -> Card:
    return Card(card.uuid, card.memory_bytes or 0, numa=card.numa_node, switch=_switch(card), health=_health(card))


def _parts(card: inventory.Card) -> Iterator[Card]:
    for part in card.instances:
        of_parent = (part.memory_bytes or 0) / card.memory_bytes if card.memory_bytes else 1.0
        yield Card(
            part.uuid,
            part.memory_bytes or 0,
            numa=card.numa_node,
            switch=_switch(card),
            profile=_profile(part.name or ""),
            parent=card.uuid,
            milli=max(1, min(CARD_MILLI, round(of_parent * CARD_MILLI))),
            health=_health(card),
        )


def _profile(name: str) -> str:
    """Return the size in a MIG instance's name: NVML says “NVIDIA A100-SXM4-40GB MIG 1g.5gb”."""
    return name.rpartition("MIG ")[2] or name


def _switch(card: inventory.Card) -> str | None:
    """Return a name that cards on one switch have in common: the first of their UUIDs."""
    near = sorted([card.uuid, *(uuid for uuid, level in card.near if level <= SAME_SWITCH)])
    return near[0] if len(near) > 1 else None


def _health(card: inventory.Card) -> Health:
    return Health.GOOD if card.health.leasable else Health.ATTENTION
