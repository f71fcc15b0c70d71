"""The queue for programs: one shape for REST and command line."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from bancada_hub.errors import Told
from bancada_hub.gpus.board import Board, Holds, Waits

Say: TypeAlias = Callable[[Told], str]
"""Says a sentence in the reader's language."""


def board_json(board: Board, say: Say) -> dict[str, object]:
    """Return the queue for programs."""
    return {
        "total": board.total,
        "free": board.free,
        "holds": [holds_json(each, say) for each in board.holds],
        "waits": [waits_json(each, say) for each in board.waits],
        "more": board.more,
    }


def holds_json(holds: Holds, say: Say) -> dict[str, object]:
    """Return who has cards, for programs."""
    return {
        "request": holds.request_id,
        "person": holds.owner.person,
        "project": holds.owner.project,
        "cards": list(holds.cards),
        "since": moment(holds.since_s),
        "until": moment(holds.until_s),
        "claim_by": moment(holds.claim_by_s) if holds.claim_by_s is not None else None,
        "trouble": say(holds.trouble) if holds.trouble else "",
        "silent_since": moment(holds.silent_since_s) if holds.silent_since_s is not None else None,
    }


def waits_json(waits: Waits, say: Say) -> dict[str, object]:
    """Return somebody who waits, for programs."""
    wait = waits.wait
    return {
        "request": waits.request_id,
        "person": waits.owner.person,
        "project": waits.owner.project,
        "cards": waits.cards,
        "memory_bytes": waits.memory_bytes,
        "profile": waits.profile,
        "purpose": waits.purpose,
        "asked": moment(waits.asked_s),
        "place": waits.place,
        "reason": say(waits.reason),
        "change": say(waits.change),
        "wait_low_s": round(wait.low_s) if wait else None,
        "wait_high_s": round(wait.high_s) if wait else None,
    }


def moment(at_s: float) -> str:
    """Return an instant as programs and pages take it."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds")
