"""What is to be done when a card fails: by whoever holds it, and by an administrator."""

from sqlalchemy.orm import Session

from bancada_hub.errors import Told, told
from bancada_hub.gpus.inventory import Cause
from bancada_hub.store import cards

_SHOWN = 12
"""Characters of a UUID that people are shown in a sentence: enough to find it on the page."""

_RESTART = told("Save your work, then stop the project and start it again: it gets another card when one is free.")

_HOLDER: dict[Cause, Told] = {
    Cause.LOST: _RESTART,
    Cause.MISSING: _RESTART,
    Cause.SILENT: _RESTART,
    Cause.UNREADABLE: _RESTART,
    Cause.DRIVER: told(
        "What runs on a card goes on. Nothing new can use one until this is repaired, so do not restart."
    ),
    Cause.REPAIR_WAITS: told("What runs goes on. Save your work, and stop the project when you can: then it is reset."),
    Cause.REPAIR_FAILED: _RESTART,
    Cause.XID: _RESTART,
    Cause.PARTS: _RESTART,
    Cause.SERVER: told("Save your work, then stop the project and start it again. Files and packages stay."),
}

_ADMIN: dict[Cause, Told] = {
    Cause.LOST: told("Restart the machine. If it happens again, have the card looked at."),
    Cause.MISSING: told("Look at the machine. If the card left it for good: ./bancada gpu forget %(card)s"),
    Cause.SILENT: told("See dmesg for lines with Xid; restart the machine if it stays so."),
    Cause.UNREADABLE: told("See dmesg for lines with Xid; restart the machine if it stays so."),
    Cause.DRIVER: told("Nobody new gets a card until then. See what is missing: ./bancada doctor"),
    Cause.REPAIR_WAITS: told("When nobody holds it: nvidia-smi --gpu-reset -i %(card)s"),
    Cause.REPAIR_FAILED: told("Have it replaced, and take it out of service: ./bancada gpu out %(card)s --reason …"),
    Cause.XID: told("Reset the card or restart the machine, then say that it is well: GPUs, Incidents."),
    Cause.PARTS: told("Its holder has been told to start again."),
    Cause.OCCUPIED: told("See what it is: nvidia-smi. End it, or free the card after you looked: GPUs."),
    Cause.SERVER: told(
        "A reload of systemd takes cards from running containers; docs/admin/gpus.md says how to end that."
    ),
}


def holder_fix(cause: Cause) -> Told | None:
    """Return what somebody who holds a card does; None where there is nothing that they could do."""
    return _HOLDER.get(cause)


def admin_fix(cause: Cause, card: str) -> Told:
    """Return what an administrator does.

    Args:
        cause: What is wrong.
        card: The card's UUID.
    """
    template = _ADMIN[cause].template
    return told(template, card=card) if "%(card)s" in template else _ADMIN[cause]


def card_name(session: Session, uuid: str) -> str:
    """Return what people call a card: its model, and enough of its UUID to find it."""
    stored = cards.stored_cards(session).get(uuid)
    model = stored.seen.model if stored else ""
    return f"{model} {uuid[:_SHOWN]}".strip()
