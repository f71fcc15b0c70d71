"""Cards that are none, for trials without a GPU: what the queue, the pages and servers show of a machine with N cards.

They are never read through the driver's library, and are named as simulated wherever they are shown.
"""

from bancada_hub.gpus.inventory import Card, Inventory, Rows
from bancada_hub.gpus.nvml import read_inventory

MOST = 64
GIB = 2**30
_SWITCH, _NODE, _ACROSS = 10, 30, 50
_CARDS_A_SWITCH, _CARDS_A_NODE = 2, 4


def machine_inventory(simulated: int) -> Inventory:
    """Return the cards of this machine, or those that the site simulates in their place.

    Args:
        simulated: How many it simulates; 0 for the machine's own.
    """
    return simulated_inventory(simulated) if simulated else read_inventory()


def simulated_inventory(count: int) -> Inventory:
    """Return simulated cards: every fourth has 80 GiB and the others 24, two on a switch, four on a NUMA node.

    Args:
        count: How many, from 1 to MOST.
    """
    return Inventory(tuple(_card(index, count) for index in range(count)), source="simulated")


def uuid_of(index: int) -> str:
    """Return the UUID of a simulated card: always the same, and no real card's (version 8 is for what one likes)."""
    return f"GPU-51300000-0000-8000-8000-{index:012d}"


def _card(index: int, count: int) -> Card:
    memory_gib = 80 if index % 4 == 3 else 24
    return Card(
        uuid=uuid_of(index),
        index=index,
        model=f"Simulated {memory_gib} GiB",
        memory_bytes=memory_gib * GIB,
        used_bytes=0,
        reserved_bytes=0,
        numa_node=index // _CARDS_A_NODE,
        mig=False,
        use_ratio=0.0,
        uncorrected_errors=0,
        rows=Rows(0, 0, pending=False, failed=False),
        processes=(),
        near=tuple((uuid_of(other), _level(index, other)) for other in range(count) if other != index),
    )


def _level(one: int, other: int) -> int:
    if one // _CARDS_A_SWITCH == other // _CARDS_A_SWITCH:
        return _SWITCH
    return _NODE if one // _CARDS_A_NODE == other // _CARDS_A_NODE else _ACROSS
