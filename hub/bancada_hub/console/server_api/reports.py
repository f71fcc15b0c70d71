"""What servers reported last. Kept in memory: a console that restarts has all of it again after 30 s."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bancada.contract import REPORT_INTERVAL_S, Activity

STALE_AFTER = timedelta(seconds=3 * REPORT_INTERVAL_S)
"""A server that has not reported for so long is not spoken for."""


@dataclass(frozen=True)
class Report:
    """One report."""

    at: datetime
    activity: Activity

    @property
    def busy(self) -> int:
        """How many kernels compute."""
        return sum(kernel.busy for kernel in self.activity.kernels)

    @property
    def last_activity(self) -> datetime | None:
        """When a kernel or terminal last did anything; None when there is none."""
        times = [kernel.last_activity for kernel in self.activity.kernels]
        return max([*times, *self.activity.terminals], default=None)


class Reports:
    """The last report of each server."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], Report] = {}

    def take(self, person: str, slug: str, activity: Activity) -> None:
        """Keep a report; those of servers that have gone are dropped."""
        now = datetime.now(UTC)
        self._last[person, slug] = Report(now, activity)
        for key, report in tuple(self._last.items()):
            if now - report.at > STALE_AFTER:
                del self._last[key]

    def latest(self, person: str, slug: str) -> Report | None:
        """Return a server's last report, unless it is too old to speak for it."""
        report = self._last.get((person, slug))
        return report if report and datetime.now(UTC) - report.at <= STALE_AFTER else None
