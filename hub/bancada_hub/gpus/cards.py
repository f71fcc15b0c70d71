"""The cards as the scheduler sees them, from what was read of the machine."""

from collections.abc import Iterator

from bancada_hub.gpus import inventory
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Card, Health

SAME_SWITCH = 20
"""NVML's level of two cards that one or several switches join without the processor (NVML_TOPOLOGY_MULTIPLE)."""


def scheduling_cards(found: Inventory) -> tuple[Card, ...]:
    """Return what leases can hold: whole cards, or the parts of a card in MIG mode.

    Args:
        found: What was read. A card whose memory could not be read counts as one without any.
    """
    cards = [each for card in found.cards for each in (_parts(card) if card.mig else [_whole(card)])]
    lost = [Card(each.uuid, 0, health=Health.LOST) for each in found.set_aside if each.uuid]
    return tuple(cards + lost)


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
