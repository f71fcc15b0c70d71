"""Waiting for the site's pages to answer, and saying which program keeps them from it."""

import time
from collections.abc import Callable

from bancada_hub.errors import HostError
from bancada_hub.host.pages import answer
from bancada_hub.host.services import Services
from bancada_hub.installation import Installation

LONGEST_S = 90.0
PAUSE_S = 0.2
MOST_STARTS = 4
"""A program that was started this often without answering will not answer."""

SHOWN_LINES = 8


def for_login_page(installation: Installation, services: Services, say: Callable[[str], None]) -> None:
    """Return when the login page and the console answer through the proxy.

    Raises:
        HostError: They do not within `LONGEST_S` seconds; the message has the end of the log of the one that failed.
    """
    deadline = time.monotonic() + LONGEST_S
    for program, path in (("hub", "/hub/login"), ("console", "/services/bancada/api/preparation")):
        pids: set[int] = set()
        while (status := answer(installation.site, path)) != 200:
            say(f"waiting for the {program}")
            pids |= {state.pid for state in services.status() if state.name == program and state.pid}
            if time.monotonic() > deadline or len(pids) > MOST_STARTS:
                raise HostError(*_told(installation, services, program, status))
            time.sleep(PAUSE_S)


def _told(installation: Installation, services: Services, program: str, status: int | None) -> tuple[str]:
    log = installation.places.logs / f"{program}.log"
    states = ", ".join(f"{state.name} {'runs' if state.running else 'does not run'}" for state in services.status())
    end = "\n".join(log.read_text(errors="replace").splitlines()[-SHOWN_LINES:]) if log.exists() else "(no log)"
    said = f"answers with status {status}" if status else "does not answer"
    return (f"The {program} {said} ({states}). The end of {log}:\n{end}",)
