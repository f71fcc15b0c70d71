"""The root of every error that Bancada raises on purpose.

An error says what was wrong, why, and what to do. `reader` is who can act on it: pages and terminals show it to
that reader; everyone else is told whom to ask. The packages that build on this one keep their own branches of the
tree: `bancada_images.errors` and `bancada_hub.errors`.
"""

from enum import StrEnum


class Reader(StrEnum):
    """Who can act on an error."""

    RESEARCHER = "researcher"
    LEAD = "lead"
    ADMIN = "admin"


class BancadaError(Exception):
    """Something went wrong that a person can mend.

    Args:
        what: What went wrong and why, in one or two sentences.
        fix: What to do about it: a command, or an action in words; empty when `what` already says it.
    """

    reader = Reader.ADMIN

    def __init__(self, what: str, *, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}\n{self.fix}" if self.fix else self.what
