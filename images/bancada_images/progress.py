"""How long actions tell what they do, and how they are told to stop."""

from collections.abc import Callable
from typing import Protocol

Cancelled = Callable[[], bool]
"""Asked several times a second during a long action: true means stop and clean up."""


class Progress(Protocol):
    """Receives what a long action is doing, in words for a person."""

    def __call__(self, text: str, done: float | None = None) -> None:
        """Take note of one thing that happened.

        Args:
            text: One line, without credentials.
            done: Fraction of the action that is done, 0 to 1; None where it cannot be told.
        """


def never() -> bool:
    """Answer that nobody asked to stop: for actions that only a signal ends."""
    return False
