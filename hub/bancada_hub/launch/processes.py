"""Starting, finding and ending the processes of a server, where there are no containers to do it."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from bancada_hub.launch.on_host import SERVER_VARIABLE

LOOK_S = 0.05


@dataclass(frozen=True)
class Account:
    """Whom a process runs as; None where this account is not root and can only be itself."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Known:
    """A process, told apart from a later one of the same number by when it began."""

    pid: int
    began: float


def spawn(command: list[str], environment: dict[str, str], account: Account | None, log: Path) -> Known:
    """Start a server in a session of its own; its output goes to a file that only this account reads.

    Args:
        command: What to run.
        environment: All of its variables.
        account: Whom it runs as.
        log: The file.
    """
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=environment["HOME"],
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o022,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=() if account else None,
        )
    finally:
        os.close(descriptor)
    return Known(process.pid, psutil.Process(process.pid).create_time())


def exit_status(known: Known) -> int | None:
    """Return None while a process runs, else its exit status; 0 where it is gone and nobody knows any more."""
    try:
        ended, status = os.waitpid(known.pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        pass  # started by an earlier hub
    try:
        process = psutil.Process(known.pid)
        return None if process.create_time() == known.began and process.status() != psutil.STATUS_ZOMBIE else 0
    except psutil.NoSuchProcess:
        return 0


def wait_for_end(known: Known, within_s: float = 5.0) -> None:
    """Wait until a process that was ended is gone: while threads of it still end, it stays a zombie."""
    deadline = time.monotonic() + within_s
    while exit_status(known) is None or _is_own_zombie(known):
        if time.monotonic() > deadline:
            return
        time.sleep(LOOK_S)


def end_server(server: str, stop_s: float) -> int:
    """End every process of a server: first those that began a session, politely; what is left after `stop_s` is killed.

    Args:
        server: The value of its BANCADA_SERVER.
        stop_s: Seconds between the two.

    Returns:
        How many processes there were.
    """
    found = processes_of(server)
    deadline = time.monotonic() + stop_s
    for process in found:
        if process.pid == os.getsid(process.pid):
            _signal(process, signal.SIGTERM)
    while time.monotonic() < deadline and processes_of(server):
        time.sleep(LOOK_S)
    while left := processes_of(server):  # a process may have made another meanwhile
        for process in left:
            _signal(process, signal.SIGKILL)
        psutil.wait_procs(left, timeout=1)
    return len(found)


def processes_of(server: str) -> list[psutil.Process]:
    """Return the running processes that carry a server's name in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(SERVER_VARIABLE) == server:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def _is_own_zombie(known: Known) -> bool:
    try:
        process = psutil.Process(known.pid)
        return process.create_time() == known.began and process.ppid() == os.getpid()
    except psutil.NoSuchProcess:
        return False


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)  # compares the begin, so that a later process of this number is not hit
    except psutil.NoSuchProcess:
        return
