"""`bancada gpu list|show|…`: the machine's cards, as the driver has them now; what is done with them: `gpu_admin`."""

import argparse
from collections.abc import Mapping

from bancada_hub.cli import gpu_admin
from bancada_hub.cli.table import add_verb, rows, say
from bancada_hub.cli.where import opened
from bancada_hub.errors import SettingsError, StoreError
from bancada_hub.gpus.inventory import Card, Instance, Inventory, card_json, resolve
from bancada_hub.gpus.lab import known_inventory
from bancada_hub.gpus.simulated import machine_inventory
from bancada_hub.installation import read_facts
from bancada_hub.places import Places
from bancada_hub.store.database import Store

GIB = 2**30
NO_VALUE = "–"  # noqa: RUF001 - the sign that all pages have for it
LEVELS = {
    0: "the same board",
    10: "one PCIe switch",
    20: "several PCIe switches",
    30: "one host bridge",
    40: "one NUMA node",
    50: "across the machine",
}


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("gpu", help="the machine's NVIDIA cards: list, show, out, back, share, reserve, …")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    add_verb(verbs, "list", "which cards there are, and how they are", _list)
    show = add_verb(verbs, "show", "a card with everything that the driver says of it", _show)
    show.add_argument("uuid", help="its UUID, or the first 8 characters or more of it")
    gpu_admin.register(verbs)


def _list(arguments: argparse.Namespace) -> int:
    store = _store(arguments)
    found = _cards(arguments, store)
    notes = gpu_admin.notes_of(store) if store else {}
    value = found.as_json()
    for card in value["cards"]:
        card |= {"note": notes.get(card["uuid"], "")}
    return say(arguments, value, list_words(found, notes))


def _show(arguments: argparse.Namespace) -> int:
    card = resolve(machine_cards(arguments), arguments.uuid)
    return say(arguments, card_json(card), show_words(card))


def _store(arguments: argparse.Namespace) -> Store | None:
    """Return the site's database; None without a site, and before its database is there."""
    if read_facts(Places(arguments.data)) is None:
        return None
    try:
        return opened(arguments)[1]
    except (SettingsError, StoreError, OSError):
        return None


def machine_cards(arguments: argparse.Namespace) -> Inventory:
    """Return the site's cards, those that were there before included; without a site those of the machine."""
    return _cards(arguments, _store(arguments))


def _cards(arguments: argparse.Namespace, store: Store | None) -> Inventory:
    facts = read_facts(Places(arguments.data))
    simulated = facts.simulated_gpus if facts else 0
    return known_inventory(store, simulated) if store else machine_inventory(simulated)


def list_words(found: Inventory, notes: Mapping[str, str] | None = None) -> str:
    """Return the cards as a table, below it what there is to say of some, and those that do not answer.

    Args:
        found: The cards.
        notes: What administrators decided and what failed, by UUID.
    """
    if found.reason:
        return found.reason
    cells = [
        (card.uuid, card.model or unknown(card, "model"), memory(card), use(card), card.health.state)
        for card in found.cards
    ]
    aside = [f"set aside: {each.uuid or f'card {each.index}'}: {each.reason}" for each in found.set_aside]
    remarks = [f"{card.uuid}: {reason}" for card in found.cards for reason in card.health.reasons]
    remarks += [f"{uuid}: {note}" for uuid, note in (notes or {}).items()]
    table = rows(("uuid", "model", "memory", "use", "health"), cells) if cells else "No card can be used."
    source = "simulated: these cards are none" if found.source == "simulated" else f"driver {found.driver}"
    return "\n".join([table, *remarks, *aside, source])


def show_words(card: Card) -> str:
    """Return all of one card."""
    values = [
        ("model", card.model or unknown(card, "model")),
        ("memory", memory(card)),
        ("use", use(card)),
        ("health", " ".join([card.health.state, *card.health.reasons])),
        ("bus", card.pci or unknown(card, "pci")),
        ("NUMA node", unknown(card, "numa_node") if card.numa_node is None else card.numa_node),
        ("compute", card.capability or unknown(card, "capability")),
        ("processes", _processes(card)),
        *(("MIG", _instance(each)) for each in card.instances),
        *((f"to {uuid}", LEVELS.get(level, f"level {level}")) for uuid, level in card.near),
        *(("NVLink to", place) for place in card.nvlinks),
    ]
    return f"{card.uuid} (card {card.index} now)\n{rows(('', ''), values).lstrip()}"


def unknown(card: Card, name: str) -> str:
    """Return what stands for a value that was not read: never 0."""
    return f"{NO_VALUE} ({card.why(name) or 'not read'})"


def memory(card: Card) -> str:
    """Return how much memory is used of how much."""
    if card.memory_bytes is None:
        return unknown(card, "memory_bytes")
    used = NO_VALUE if card.used_bytes is None else f"{card.used_bytes / GIB:.1f}"
    return f"{used} of {card.memory_bytes / GIB:.1f} GiB"


def use(card: Card) -> str:
    """Return how busy a card is."""
    return unknown(card, "use_ratio") if card.use_ratio is None else f"{card.use_ratio:.0%}"


def _instance(instance: Instance) -> str:
    size = NO_VALUE if instance.memory_bytes is None else f"{instance.memory_bytes / GIB:.1f}"
    used = NO_VALUE if instance.used_bytes is None else f"{instance.used_bytes / GIB:.1f}"
    return f"{instance.uuid} {instance.name or ''} {used} of {size} GiB"


def _processes(card: Card) -> str:
    if card.processes is None:
        return unknown(card, "processes")
    return " ".join(map(str, card.processes)) or "none"
