"""What runs in a server, in words: pure, from its last report. What was not reported is unknown, never nothing."""

from dataclasses import dataclass
from datetime import datetime

from bancada_hub.console.server_api.reports import Report
from bancada_hub.ui.language import Words


@dataclass(frozen=True)
class Shown:
    """What a card says of the activity in a server.

    Args:
        text: One line.
        known: Whether it holds now; what does not is grey.
        at: When it was reported; None when it never was.
    """

    text: str
    known: bool
    at: datetime | None = None


def describe(report: Report | None, now: datetime, words: Words) -> Shown:
    """Return the activity of a server that runs.

    Args:
        report: Its last one; None when it has not reported yet.
        now: The present instant.
        words: The reader's.
    """
    if report is None:
        return Shown(words.gettext("Activity unknown: it has not reported yet"), known=False)
    if report.stale(now):
        age = words.ago((now - report.at).total_seconds())
        text = words.gettext("Activity unknown: the last report came %(age)s", age=age)
        return Shown(f"{text} ({_what(report, words)})", known=False, at=report.at)
    text = _what(report, words)
    if report.last_activity is not None and not report.busy:  # what computes is active now, whatever it last said
        age = words.ago(max(0.0, (now - report.last_activity).total_seconds()))
        text = words.gettext("%(what)s · active %(age)s", what=text, age=age)
    return Shown(text, known=True, at=report.at)


def _what(report: Report, words: Words) -> str:
    notebooks, terminals = len(report.activity.kernels), len(report.activity.terminals)
    parts = []
    if notebooks:
        parts.append(words.ngettext("%(n)d notebook", "%(n)d notebooks", notebooks))
        parts.append(
            words.gettext("%(n)d computing", n=report.busy) if report.busy else words.gettext("none computing")
        )
    if terminals:
        parts.append(words.ngettext("%(n)d terminal", "%(n)d terminals", terminals))
    return ", ".join(parts) or words.gettext("No notebook is open")
