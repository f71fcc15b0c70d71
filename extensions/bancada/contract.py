"""The shapes and names that cross between hub and server. Standard library only: every notebook imports it."""

import re
from dataclasses import dataclass
from datetime import datetime

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
LANGUAGE_VARIABLE = "BANCADA_LANGUAGE"
"""The language of the person's pages, as BCP 47 names it; JupyterLab starts in it unless they chose another there."""

LANGUAGES = ("en", "pt-BR")

SIMULATED_CARDS_VARIABLE = "BANCADA_SIMULATED_GPUS"
"""UUIDs of the simulated cards of a server's lease; they are no devices."""

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


# The server API: what a server asks of the console's second listener. Version rule: a change that a server of an older
# release would not understand raises CONTRACT; the console answers the OLDEST of the last four releases and newer.

CONTRACT = 1
OLDEST_CONTRACT = 1
CONTRACT_HEADER = "X-Bancada-Contract"
SITE_API_VARIABLE = "BANCADA_SITE_API"
"""Where the server API is, such as http://10.89.0.1:8004/api/v1; unset outside a site."""

API_PATH = "/api/v1"
REPORT_PATH, PROJECT_PATH, NOTICES_PATH, STOP_PATH = "/report", "/project", "/notices", "/stop"
REPORT_INTERVAL_S = 30
LONGEST_WAIT_S = 25
"""How long an answer to GET /notices is held back while there is nothing to tell."""

CARDS_NO_LIBRARY, CARDS_SILENT = -1, -2
"""What a server reports of its cards where the driver's library is missing, or does not answer in time."""

MOST_ACTIVITIES = 1000
LEVELS = ("info", "warning", "error")


class ContractError(ValueError):
    """What came over the server API is not of the shape that both sides agreed on."""


@dataclass(frozen=True)
class KernelActivity:
    """One kernel: whether it computes, and when it last did anything for its person."""

    busy: bool
    last_activity: datetime


@dataclass(frozen=True)
class Activity:
    """The body of POST /report: what runs in a server, without names and paths.

    Args:
        kernels: One entry a kernel.
        terminals: When each terminal last did anything.
        cards_error: What the driver's library answers in a server that holds cards (an error of NVML, CARDS_NO_LIBRARY
            or CARDS_SILENT); 0 when all is well, or without a card. Servers of older releases do not send it.
    """

    kernels: tuple[KernelActivity, ...] = ()
    terminals: tuple[datetime, ...] = ()
    cards_error: int = 0

    def json(self) -> dict[str, object]:
        """Return what is sent."""
        return {
            "kernels": [{"busy": one.busy, "last_activity": one.last_activity.isoformat()} for one in self.kernels],
            "terminals": [{"last_activity": one.isoformat()} for one in self.terminals],
            "cards_error": self.cards_error,
        }


@dataclass(frozen=True)
class ProjectFacts:
    """The answer to GET /project and POST /report: where this server works.

    Args:
        project: The project's slug.
        title: Its title.
        image: The image's title; empty when the site has none published any more.
        revision: The short name of the published revision.
        gpus: Names of the cards that the server holds.
        signed_out_at: When its person's sessions were ended last, in ISO 8601; empty for never.
    """

    project: str
    title: str
    image: str
    revision: str
    gpus: tuple[str, ...] = ()
    signed_out_at: str = ""


@dataclass(frozen=True)
class SiteNotice:
    """One of the answer to GET /notices: what the site tells a person once.

    Args:
        id: Rises with each notice.
        level: `info`, `warning` or `error`.
        text: One or two sentences.
        action_label: Words of its one button; empty for none.
        action_url: A path of this site.
    """

    id: int
    level: str
    text: str
    action_label: str = ""
    action_url: str = ""


def parse_activity(value: object) -> Activity:
    """Check the body of a report.

    Raises:
        ContractError: It is of another shape.
    """
    table = _table(value, {"kernels", "terminals"})
    kernels = tuple(
        KernelActivity(_bool(one["busy"]), _instant(one["last_activity"]))
        for one in (_table(item, {"busy", "last_activity"}) for item in _list(table["kernels"]))
    )
    terminals = tuple(_instant(_table(item, {"last_activity"})["last_activity"]) for item in _list(table["terminals"]))
    return Activity(kernels, terminals, _whole(table.get("cards_error", 0)))


def parse_facts(value: object) -> ProjectFacts:
    """Check the facts of a project.

    Raises:
        ContractError: They are of another shape.
    """
    table = _table(value, {"project", "title", "image", "revision", "gpus"})
    return ProjectFacts(
        project=_text(table["project"]),
        title=_text(table["title"]),
        image=_text(table["image"]),
        revision=_text(table["revision"]),
        gpus=tuple(_text(item) for item in _list(table["gpus"])),
        signed_out_at=_text(table.get("signed_out_at", "")),
    )


def parse_notices(value: object) -> tuple[SiteNotice, ...]:
    """Check a list of notices.

    Raises:
        ContractError: It is of another shape, or a notice's button would leave the site.
    """
    return tuple(_notice(item) for item in _list(_table(value, {"notices"})["notices"]))


def contract_problem(header: str | None) -> str:
    """Say why the console does not speak with a server of this contract; empty when it does.

    Args:
        header: What the server sent in X-Bancada-Contract.
    """
    if header is None or not re.fullmatch(r"[0-9]{1,6}", header):
        return f"The header {CONTRACT_HEADER} must be a number, such as {CONTRACT}."
    number = int(header)
    if number < OLDEST_CONTRACT:
        return (
            "This server was started by a release of Bancada that is too old for this site "
            f"(contract {number}; the site speaks {OLDEST_CONTRACT} to {CONTRACT})."
        )
    if number > CONTRACT:
        return (
            "This server was started by a newer release of Bancada than the site's "
            f"(contract {number}; the site speaks {OLDEST_CONTRACT} to {CONTRACT})."
        )
    return ""


def _notice(item: object) -> SiteNotice:
    table = _table(item, {"id", "level", "text", "action_label", "action_url"})
    number, url = table["id"], _text(table["action_url"])
    if type(number) is not int or table["level"] not in LEVELS:
        raise ContractError("a notice has a number and a level")
    if url and not re.match(r"/(?![/\\])", url):
        raise ContractError("a notice's button leads to a path of this site")
    return SiteNotice(number, str(table["level"]), _text(table["text"]), _text(table["action_label"]), url)


def _table(value: object, names: set[str]) -> dict[str, object]:
    # More names than are known are let through: a newer side may send them.
    if not isinstance(value, dict) or not names <= set(value):
        raise ContractError(f"expected a table with {', '.join(sorted(names))}")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > MOST_ACTIVITIES:
        raise ContractError(f"expected a list of at most {MOST_ACTIVITIES}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ContractError("expected text")
    return value


def _whole(value: object) -> int:
    if type(value) is not int or abs(value) > 10_000:
        raise ContractError("expected a small whole number")
    return value


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise ContractError("expected true or false")
    return value


def _instant(value: object) -> datetime:
    try:
        instant = datetime.fromisoformat(_text(value))
    except ValueError as error:
        raise ContractError("expected a time in ISO 8601") from error
    if instant.tzinfo is None:
        raise ContractError("expected a time with its zone")
    return instant
