"""What servers reported last. Kept in memory: a console that restarts has all of it again after 30 s."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bancada.contract import REPORT_INTERVAL_S, Activity

STALE_AFTER = timedelta(seconds=3 * REPORT_INTERVAL_S)
"""What a server reported longer ago than this is shown with its age, as the past that it is."""

KEPT_FOR = timedelta(days=7)


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

    def stale(self, now: datetime) -> bool:
        """Return whether it no longer speaks for its server."""
        return now - self.at > STALE_AFTER


class Reports:
    """The last report of each server."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], Report] = {}

    def take(self, person: str, slug: str, activity: Activity) -> None:
        """Keep a report; those of servers that have long gone are dropped."""
        now = datetime.now(UTC)
        self._last[person, slug] = Report(now, activity)
        for key, report in tuple(self._last.items()):
            if now - report.at > KEPT_FOR:
                del self._last[key]

    def latest(self, person: str, slug: str, started_at: datetime | None) -> Report | None:
        """Return a server's last report since it was started, however old; none is not the same as nothing runs.

        Args:
            person: The account name.
            slug: The project.
            started_at: When the server that runs was started: an earlier one's reports do not speak for it.
        """
        report = self._last.get((person, slug))
        return report if report and (started_at is None or report.at >= started_at) else None
