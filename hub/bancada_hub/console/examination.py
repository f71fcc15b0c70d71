"""The doctor's checks as the console runs them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bancada_hub.doctor import examine
from bancada_hub.host.checks import Check


@dataclass(frozen=True)
class Outcome:
    """What a run found.

    Args:
        at: When it ended.
        checks: One after the other.
    """

    at: datetime
    checks: tuple[Check, ...]

    @property
    def wrong(self) -> int:
        """How many checks failed."""
        return sum(not check.ok for check in self.checks)


def examine_now(data: Path) -> Outcome:
    """Run all checks of the site with this data directory."""
    checks = tuple(examine(data))
    return Outcome(datetime.now(UTC), checks)
