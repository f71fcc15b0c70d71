"""Ends and removes what a killed test run left on the machine: processes, mounts, network, run directories.

Standard library only: `.ci/run` calls it before anything is installed (`python3 -m tests.leftovers`). Everything that
the tests leave lies below one directory, or carries a name made from a path below it, so that nothing of anybody
else is ever touched. What a living run holds is left alone.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.network import Network

ROOT = Path(os.environ.get("BANCADA_TESTS", "/var/tmp/bancada-tests"))
CGROUPS = Path("/sys/fs/cgroup")
TERM_S = 15.0
KILL_S = 10.0


class LockedError(RuntimeError):
    """Another test run holds an engine's directory."""


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold a directory for this process alone; the kernel lets go of it when the process ends, however it ends."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise LockedError(
                f"{directory} is in use by the test run with process id {lock.read().strip() or '?'}. "
                "Wait for its end, or give this run a directory of its own: BANCADA_TESTS=/var/tmp/bancada-tests-2"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def clear() -> list[str]:
    """Remove what dead runs left below ROOT, and return what was removed, in words."""
    done = []
    for directory in sorted(ROOT.glob("*/")):
        if directory.name.startswith("r") and directory.name[1:].isdecimal():
            if not Path("/proc", directory.name[1:]).exists():
                clear_run(directory)
                done.append(f"run directory {directory}")
        elif (directory / "lock").exists():
            with contextlib.suppress(LockedError), locked(directory):
                done += [f"{what} of {directory}" for what in clear_engine(directory)]
    return done


def clear_run(directory: Path) -> None:
    """Remove one run's directory, after the processes and mounts in it."""
    end(lambda: processes_naming(directory))
    unmount_below(directory)
    shutil.rmtree(directory, ignore_errors=True)


def clear_engine(directory: Path) -> list[str]:
    """Remove what an engine left, all but its images; the caller holds the engine's lock."""
    network = Network(directory)
    done = []
    groups = cgroups_of(network.name)
    if end(lambda: engine_processes(directory, network)):
        done.append("processes")
    if unmount_below(directory):
        done.append("mounts")
    if network.remove():
        done.append("network")
    for group in groups:
        remove_cgroup(group)
    shutil.rmtree(directory / "exec", ignore_errors=True)
    for name in ("docker.pid", "docker.sock"):
        (directory / name).unlink(missing_ok=True)
    return done


# Processes


def engine_processes(directory: Path, network: Network) -> set[int]:
    """Return the processes of an engine, of its containers, and of whatever else ran in its namespace."""
    in_groups = {
        int(line)
        for group in cgroups_of(network.name)
        for member in group.rglob("cgroup.procs")
        for line in member.read_text().split()
    }
    return processes_naming(directory) | network.processes() | in_groups


def processes_naming(directory: Path) -> set[int]:
    """Return the processes whose command line names a path in this directory, this one and its parents apart."""
    own, needle, found = ancestors(), os.fsencode(directory) + b"/", set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if needle in path.read_bytes() and int(path.parent.name) not in own:
                found.add(int(path.parent.name))
    return found


def ancestors() -> set[int]:
    """Return this process and those that wait for it."""
    found, pid = set(), os.getpid()
    while pid > 1:
        found.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


def end(find: Callable[[], Iterable[int]]) -> bool:
    """End processes, politely and then for good, until none is found; say whether there were any."""
    if not (first := set(find()) - ancestors()):
        return False
    for sent, patience_s in ((signal.SIGTERM, TERM_S), (signal.SIGKILL, KILL_S)):
        for pid in first:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)
        deadline = time.monotonic() + patience_s
        while (first := {pid for pid in find() if is_running(pid)} - ancestors()) and time.monotonic() < deadline:
            time.sleep(0.05)
        if not first:
            break
    return True


def is_running(pid: int) -> bool:
    """Say whether a process runs: a zombie has ended, and only waits for its parent to look."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


# Mounts and control groups


def unmount_below(directory: Path) -> bool:
    """Unmount everything in a directory, the newest first, and free the loop devices that stood on its files."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    below = [point for point in points if point.startswith(f"{directory}/")]
    for point in reversed(below):
        subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if backing.read_text().startswith(f"{directory}/"):
                subprocess.run(["losetup", "--detach", f"/dev/{backing.parts[3]}"], check=False)
    return bool(below)


def cgroups_of(name: str) -> list[Path]:
    """Return the control groups of this name, in every hierarchy of this machine (versions 1 and 2)."""
    return [path for path in (CGROUPS / name, *CGROUPS.glob(f"*/{name}")) if path.is_dir()]


def remove_cgroup(group: Path) -> None:
    """Remove an empty control group and those in it."""
    for path in sorted(group.rglob("*/"), reverse=True):
        with contextlib.suppress(OSError):
            path.rmdir()
    with contextlib.suppress(OSError):
        group.rmdir()


if __name__ == "__main__":
    for cleared in clear():
        sys.stdout.write(f"cleared: {cleared}\n")
