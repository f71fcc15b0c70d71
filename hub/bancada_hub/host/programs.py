"""The site's own programs: what they are, how they are told apart, and what keeps them running."""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import psutil

SITE_VARIABLE = "BANCADA_SITE"
PROGRAM_VARIABLE = "BANCADA_PROGRAM"
KEY_VARIABLE = "BANCADA_PROGRAM_KEY"
# What a program takes over from whoever started it, beside what it is told. It restarts nothing when it changes.
KEPT_VARIABLES = (
    *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
END_WITHIN_S = 5.0
LOOK_S = 0.05


@dataclass(frozen=True)
class Program:
    """One program of a site.

    Args:
        name: What it is called: "hub".
        command: The program and its arguments, without secrets: everybody on the machine can read them.
        environment: What it is told, secrets too: it reaches the program through a file that only its owner reads.
        directory: Where it runs.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path

    def key(self) -> str:
        """Return a hash of everything that makes a restart necessary when it changes."""
        whole = [self.name, list(self.command), sorted(self.environment.items()), str(self.directory)]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ProgramState:
    """How a program is now.

    Args:
        name: What it is called.
        running: Whether it runs.
        pid: Its process, while it runs.
        since: When that process started.
        detail: A few words for a person.
    """

    name: str
    running: bool
    pid: int | None
    since: datetime | None
    detail: str


class Services(Protocol):
    """What keeps the programs of one site running."""

    def start(self, programs: Sequence[Program]) -> None:
        """Make exactly these programs run; those that run as asked already are left alone."""

    def stop(self) -> None:
        """End all programs of the site, and what keeps them running."""

    def restart(self, name: str) -> None:
        """End one program and start it again."""

    def status(self) -> list[ProgramState]:
        """Return the state of each program that was started last."""

    def pids(self) -> set[int]:
        """Return the processes of the site's programs, left-over ones too."""

    def outside(self) -> list[Path]:
        """Return the files that were written outside the data directory."""


def write_private(path: Path, text: str, mode: int = 0o600) -> bool:
    """Replace a file in one step when its text differs; return whether it did."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return False
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)
    return True


def write_programs(path: Path, site_id: str, programs: Sequence[Program]) -> None:
    """Write what `program.py` starts: commands and environments, for the owner's eyes only."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    described = {
        program.name: {
            "command": list(program.command),
            "directory": str(program.directory),
            "environment": {
                **kept,
                **program.environment,
                SITE_VARIABLE: site_id,
                PROGRAM_VARIABLE: program.name,
                KEY_VARIABLE: program.key(),
            },
        }
        for program in programs
    }
    write_private(path, json.dumps(described, indent=1) + "\n")


def program_names(path: Path) -> list[str]:
    """Return the names of the programs that were written last, in their order."""
    try:
        return list(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return []


def runs_as_asked(pid: int | None, program: Program) -> bool:
    """Say whether a process is this program with this command and environment."""
    return pid is not None and environment_of(pid).get(KEY_VARIABLE) == program.key()


def environment_of(pid: int) -> Mapping[str, str]:
    """Return the environment that a process was started with; nothing when it has gone or is somebody else's."""
    try:
        return psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return {}


def marked_processes(site_id: str) -> list[psutil.Process]:
    """Return the processes of a site's programs, whoever their parent is now.

    People's servers carry the site's id too, and not the name of a program: they are never among these.
    """
    spared = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter():
        if process.pid in spared:
            continue
        environment = environment_of(process.pid)
        if environment.get(SITE_VARIABLE) == site_id and PROGRAM_VARIABLE in environment:
            found.append(process)
    return found


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and that nobody took note of does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def end(processes: Iterable[psutil.Process]) -> None:
    """End processes: politely, then at once."""
    alive = list(processes)
    for action in ("terminate", "kill"):
        for process in alive:
            try:
                getattr(process, action)()
            except psutil.NoSuchProcess:
                continue  # it ended by itself meanwhile
        deadline = time.monotonic() + END_WITHIN_S
        while alive and time.monotonic() < deadline:
            _, alive = psutil.wait_procs(alive, timeout=LOOK_S)  # takes note of those that are our own children
            alive = [process for process in alive if is_alive(process.pid)]
        if not alive:
            return


def started_at(pid: int | None) -> datetime | None:
    """Return when a process started."""
    if pid is None:
        return None
    try:
        return datetime.fromtimestamp(psutil.Process(pid).create_time(), UTC)
    except psutil.Error:
        return None
