"""The shapes and names that cross between hub and server. Standard library only: every notebook imports it."""

import re
from dataclasses import dataclass

START_FAILED = "bancada-start-failed"
"""First word of the one line that a server prints when it cannot start: `bancada-start-failed: <reason>: <why>`."""

START_FAILED_EXIT = 78
"""Exit status that goes with it (EX_CONFIG of sysexits.h)."""

ENVIRONMENT_GID = 1_999_999
"""The group `bancada-env`, which owns /opt/env in every image."""

RUNTIME_DIRECTORY = "/run/bancada"
"""Sockets and connection files: in memory, so that a start needs nothing from a disk that may be full."""

KIND_VARIABLE = "BANCADA_KIND"
PROJECT_VARIABLE = "BANCADA_PROJECT"
REVISION_VARIABLE = "BANCADA_REVISION"
PLACES_VARIABLE = "BANCADA_PLACES"
WORK_ENVIRONMENT_VARIABLE = "BANCADA_WORK_ENVIRONMENT"
LINKS_VARIABLE = "BANCADA_LINKS"
"""Where the places lead, as JSON; only with the process engine, whose servers see the machine's own paths."""

RESCUE = "rescue"

PLACES = (
    ("My files", None),
    ("Project", "/project"),
    ("Data", "/data"),
    ("Examples", "/examples"),
)
"""What JupyterLab's file browser shows, and where it leads; None is the home."""

_LINE = re.compile(rf"^{START_FAILED}: (?P<reason>[a-z][a-z0-9-]*): (?P<sentence>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class StartFailure:
    """Why a server could not start.

    Args:
        reason: A fixed word.
        sentence: For the person who started it.
    """

    reason: str
    sentence: str

    def line(self) -> str:
        """Return the line that a server prints."""
        return f"{START_FAILED}: {self.reason}: {' '.join(self.sentence.split())}"


def parse_start_failure(log: str) -> StartFailure | None:
    """Find the last such line in a server's log."""
    found = list(_LINE.finditer(log))
    return StartFailure(found[-1]["reason"], found[-1]["sentence"].strip()) if found else None
