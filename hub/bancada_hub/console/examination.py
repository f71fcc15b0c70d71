"""The doctor's checks as the console runs them: one run at a time, and the last one's outcome until the next."""

import asyncio
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


class Examination:
    """Runs the checks of one site.

    Args:
        data: Its data directory.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._running: asyncio.Task[Outcome] | None = None
        self.last: Outcome | None = None

    async def run(self) -> Outcome:
        """Run all checks; who asks while they run gets the outcome of that run."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await asyncio.shield(self._running)

    async def _run(self) -> Outcome:
        checks = await asyncio.to_thread(lambda: tuple(examine(self._data)))
        self.last = Outcome(datetime.now(UTC), checks)
        return self.last
