"""Which NVIDIA cards this machine has, or why none can be read: the driver's own words, never a guess."""

from dataclasses import dataclass

import pynvml

from bancada_hub.errors import Told, told


@dataclass(frozen=True)
class Card:
    """A card.

    Args:
        uuid: The driver's name for it, which no other card has.
        name: The model.
        memory_bytes: How much memory it has; None when the driver does not say.
    """

    uuid: str
    name: str
    memory_bytes: int | None


@dataclass(frozen=True)
class Cards:
    """What was read.

    Args:
        cards: The cards, in the driver's order.
        reason: Why none could be read; empty when the driver answered.
    """

    cards: tuple[Card, ...] = ()
    reason: Told | None = None


def read_cards() -> Cards:
    """Ask the driver; it may take a second when no program holds it open."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError_LibraryNotFound:
        return Cards(reason=told("No NVIDIA driver on this host (libnvidia-ml.so.1 not found)."))
    except pynvml.NVMLError as error:
        return Cards(reason=told("The NVIDIA driver of this host does not answer: %(words)s.", words=str(error)))
    try:
        return Cards(tuple(_card(number) for number in range(pynvml.nvmlDeviceGetCount())))
    except pynvml.NVMLError as error:
        return Cards(reason=told("The NVIDIA driver of this host does not answer: %(words)s.", words=str(error)))
    finally:
        pynvml.nvmlShutdown()


def _card(number: int) -> Card:
    handle = pynvml.nvmlDeviceGetHandleByIndex(number)
    try:
        memory_bytes = int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
    except pynvml.NVMLError:
        memory_bytes = None
    return Card(_text(pynvml.nvmlDeviceGetUUID(handle)), _text(pynvml.nvmlDeviceGetName(handle)), memory_bytes)


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
