"""Starting the container engine of this machine, with systemd or without."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bancada_hub.errors import EngineError

Say = Callable[[str], None]

SYSTEMD_DIRECTORY = Path("/run/systemd/system")
SYSTEM_PATH = "/usr/sbin:/sbin"
SHOWN_LINES = 12
POLL_S = 0.1
# An engine that is started within a second of another one's end waits in vain for its containerd; later it is fine.
RETRY_AFTER_S = 6.0
TRIAL_FIX = "Or try Bancada without containers: bancada up --engine process"


@dataclass(frozen=True)
class Daemon:
    """How the engine is started where there is no systemd.

    Args:
        command: The program and its options.
        pidfile: Where it writes its process id.
        settings: The engine's own settings file.
        answers_within_s: How long it may take from its start to its first answer.
    """

    command: tuple[str, ...] = ("dockerd",)
    pidfile: Path = Path("/var/run/docker.pid")
    settings: Path = Path("/etc/docker/daemon.json")
    answers_within_s: float = 30.0


def has_systemd() -> bool:
    """Say whether systemd runs this machine."""
    return SYSTEMD_DIRECTORY.is_dir()


def start_with_systemd(answers: Callable[[], bool], *, answers_within_s: float = 60.0) -> None:
    """Start the service `docker`, and wait until it answers.

    Raises:
        EngineError: systemd could not start it, or it does not answer.
    """
    started = subprocess.run(
        ["systemctl", "start", "docker"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if started.returncode == 0 and wait_until(answers, answers_within_s):
        return
    journal = subprocess.run(
        ["journalctl", "--unit", "docker", "--lines", str(SHOWN_LINES), "--no-pager", "--output", "cat"],
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"{started.stderr}{journal.stdout}".strip()
    raise EngineError(
        f"systemd could not start the container engine. It said:\n{said}",
        fix=f"See the whole: systemctl status docker\n{TRIAL_FIX}",
    )


def start_detached(daemon: Daemon, log: Path, answers: Callable[[], bool], say: Say) -> None:
    """Start the engine as a process of its own, and wait until it answers; try twice.

    Args:
        daemon: What is started.
        log: Its log; what it writes is appended.
        answers: Says whether the engine answers.
        say: Tells the person what happens.

    Raises:
        EngineError: It did not answer, twice.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    for attempt in (1, 2):
        clear_stale_pidfile(daemon.pidfile)
        if _start_once(daemon, log, answers):
            return
        if attempt == 1:
            say(f"The engine did not start; trying once more in {RETRY_AFTER_S:.0f} s")
            if wait_until(answers, RETRY_AFTER_S):
                return
    last = "\n".join(log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-SHOWN_LINES:])
    raise EngineError(
        f"The container engine was started twice and did not answer. Its log {log} ends with:\n{last}",
        fix=f"Mend that, then run the same command again.\n{TRIAL_FIX}",
    )


def _start_once(daemon: Daemon, log: Path, answers: Callable[[], bool]) -> bool:
    """Start the engine; return whether it answered before it ended or its time was over."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*daemon.command, *live_restore(daemon.settings)],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # it outlives this command and its terminal
        )
    answered = wait_until(lambda: process.poll() is not None or answers(), daemon.answers_within_s)
    if answered and process.poll() is None:
        return True
    if process.poll() is None:  # it hangs: two engines on one data directory would be worse
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return False


def live_restore(settings: Path) -> Sequence[str]:
    """Return the option that keeps containers alive while the engine restarts, unless its own settings decide that."""
    try:
        decided = "live-restore" in json.loads(settings.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        decided = False
    return () if decided else ("--live-restore",)


def clear_stale_pidfile(pidfile: Path) -> None:
    """Remove a pid file whose engine has gone: after a crash or a reboot its number may belong to anything."""
    try:
        pid = int(pidfile.read_text(encoding="ascii"))
    except FileNotFoundError:
        return
    except ValueError:
        pid = 0
    try:
        if pid > 0 and psutil.Process(pid).name() == "dockerd":
            return
    except psutil.NoSuchProcess:
        pass  # which is what makes it stale
    pidfile.unlink(missing_ok=True)


def check_can_start() -> None:
    """Refuse what no installation can mend.

    Raises:
        EngineError: This is not Linux, or the process is not root.
    """
    if sys.platform != "linux":
        raise EngineError(
            f"The docker engine needs Linux with root on this machine; this is {sys.platform}.", fix=TRIAL_FIX
        )
    if os.geteuid() != 0:
        raise EngineError(
            "No container engine answers, and only root may install or start one.",
            fix=f"Run it as root: sudo ./bancada up\n{TRIAL_FIX}",
        )


def has_program(name: str) -> bool:
    """Say whether a program is there; root's PATH does not always hold sbin."""
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}") is not None


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Ask again until the condition holds or the time is over; return whether it held."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
