"""Trying on the engine what Bancada needs of it, because what an engine says about itself is not enough.

Two containers run for a moment: one reads and writes a file of this machine, the other writes into an overlay. Their
image is a shell of this machine with its libraries, so that no registry is needed. Nothing stays.
"""

import io
import secrets
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import DockerException, NotFound
from docker.types import DriverConfig, Mount

from bancada_hub.amounts import Bytes
from bancada_hub.errors import joined, told, told_exactly
from bancada_hub.host.checks import Check
from bancada_hub.host.connection import Engine, client

OLDEST_API = (1, 41)
NEEDED_SPACE_BYTES = Bytes(4 * 2**30)
SHELL = Path("/bin/sh")
LIMITS = {
    "MemoryLimit": told("The engine cannot hold memory limits."),
    "CpuCfsQuota": told("The engine cannot hold CPU limits."),
    "PidsLimit": told("The engine cannot hold process limits."),
}
"""What an engine says that it can, and what is said when it cannot."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
ANSWER_WITHIN_S = 15
OWN_ENGINE_FIX = told("Unset DOCKER_HOST to use this machine's own engine, or: bancada up --engine process")
# The shell's own words only: the image holds no other program. The outputs are compared on this side.
SHARED_SCRIPT = f"read boot <{BOOT_ID}; read token </probe/token; echo $boot $token; echo $token >/probe/answer"
OVERLAY_SCRIPT = "read token </probe/token; echo $token >/probe/answer; echo $token >/probe/token"


def probe_engine(engine: Engine, scratch: Path, base_image: str | None = None) -> list[Check]:
    """Try what Bancada needs, in under 5 s.

    Args:
        engine: The engine that answered.
        scratch: A directory on the file system where the site's data lies; it is made, and emptied again.
        base_image: An image on the engine that has /bin/sh; else one is made for the moment from this machine's shell.

    Returns:
        One check a need, in the order in which a person would mend them.
    """
    docker_client = client(engine, timeout_s=ANSWER_WITHIN_S)
    try:
        info = docker_client.info()
        checks = [_linux(info), _api(engine), _rootful(info), _seccomp(info), _limits(info), _space(engine, scratch)]
        return checks + _try_containers(docker_client, scratch, base_image)
    except (DockerException, requests.RequestException) as error:
        detail = told("The engine stopped answering: %(why)s", why=error)
        return [Check("engine-answers", ok=False, detail=detail, fix=OWN_ENGINE_FIX)]
    finally:
        docker_client.close()


# What the engine says about itself


def _linux(info: Mapping[str, Any]) -> Check:
    kind = str(info.get("OSType", "unknown"))
    detail = told("The engine runs %(kind)s containers.", kind=kind)
    return Check("engine-linux", kind == "linux", detail, fix=told("Use an engine on Linux."))


def _api(engine: Engine) -> Check:
    numbers = tuple(int(part) for part in engine.api_version.split(".") if part.isdigit())
    words = {"version": engine.version, "api": engine.api_version}
    detail = told("Engine %(version)s speaks API %(api)s; 1.41 or newer is needed.", **words)
    fix = told("Upgrade it to Docker 20.10 or newer: apt-get install docker.io")
    return Check("engine-api", numbers >= OLDEST_API, detail, fix=fix)


def _rootful(info: Mapping[str, Any]) -> Check:
    options = [str(option) for option in info.get("SecurityOptions") or []]
    found = [word for word in ("rootless", "userns") if any(word in option for option in options)]
    if not found:
        return Check("engine-rootful", ok=True, detail=told("The engine runs as root, with this machine's user ids."))
    what = told("rootless") if "rootless" in found else told("with renumbered user ids (userns-remap)")
    return Check(
        "engine-rootful",
        ok=False,
        detail=told("The engine runs %(how)s; people's files need their own user ids.", how=what),
        fix=told(
            'Use a rootful engine without "userns-remap" in /etc/docker/daemon.json, or: bancada up --engine process'
        ),
    )


def _seccomp(info: Mapping[str, Any]) -> Check:
    options = [str(option) for option in info.get("SecurityOptions") or []]
    found = next((option for option in options if option.startswith("name=seccomp")), "")
    ok = bool(found) and "unconfined" not in found
    return Check(
        "engine-seccomp",
        ok,
        told("The engine filters system calls.")
        if ok
        else told("The engine does not filter system calls (seccomp is off)."),
        fix=told('Remove "seccomp-profile" from /etc/docker/daemon.json and restart the engine.'),
    )


def _limits(info: Mapping[str, Any]) -> Check:
    absent = [what for key, what in LIMITS.items() if not info.get(key)]
    if not absent:
        return Check("engine-limits", ok=True, detail=told("The engine holds memory, CPU and process limits."))
    said = " ".join(str(line) for line in info.get("Warnings") or [] if "limit" in str(line).lower())
    return Check(
        "engine-limits",
        ok=False,
        detail=joined(*absent, *([told_exactly(said, None)] if said else [])),
        fix=told("Turn on the kernel's cgroup controllers: cgroup_enable=memory on its command line, then restart it."),
    )


def _space(engine: Engine, scratch: Path) -> Check:
    root = Path(engine.root_dir)
    existing = next(path for path in (scratch, *scratch.parents) if path.exists())
    places = {path: shutil.disk_usage(path).free for path in (root, existing) if path.exists()}
    tight = {path: free for path, free in places.items() if free < NEEDED_SPACE_BYTES}
    free = [
        told("%(free)s are free at %(path)s.", free=Bytes(free), path=path) for path, free in (tight or places).items()
    ]
    return Check(
        "engine-space",
        not tight,
        joined(*free, told("A first image needs %(size)s.", size=NEEDED_SPACE_BYTES)),
        fix=told("Free some space there: what images use is shown by: docker system df"),
    )


# What is tried with containers


@dataclass(frozen=True)
class _Trial:
    """What the containers of one probe share: the client, the image, the name of this probe, its directory."""

    docker: docker.DockerClient
    image: str
    name: str
    directory: Path


def _try_containers(docker_client: docker.DockerClient, scratch: Path, base_image: str | None) -> list[Check]:
    """Run the two containers, and remove everything that they needed."""
    name = f"bancada-probe-{secrets.token_hex(4)}"
    made = not scratch.exists()
    directory = scratch / name
    directory.mkdir(parents=True)
    try:
        with _image(docker_client, name, base_image) as image:
            trial = _Trial(docker_client, image, name, directory)
            return [*_shared(trial), _overlay(trial)]
    except (DockerException, requests.RequestException, OSError, subprocess.SubprocessError) as error:
        what = told("No container could be run to try the engine: %(why)s", why=_said(error))
        return [Check("engine-runs", ok=False, detail=what, fix=told("See the engine's log: journalctl --unit docker"))]
    finally:
        shutil.rmtree(directory)
        if made:
            scratch.rmdir()


def _shared(trial: _Trial) -> list[Check]:
    """Try whether a container sees this machine's kernel, and a file that was written here a moment ago."""
    directory, token = trial.directory / "shared", secrets.token_hex(8)
    directory.mkdir()
    (directory / "token").write_text(f"{token}\n", encoding="ascii")
    failure, output = [], ""
    try:
        output = _run(trial, SHARED_SCRIPT, Mount("/probe", str(directory), type="bind"))
    except (DockerException, requests.RequestException) as error:
        failure = [told("The engine said: %(why)s", why=_said(error))]
    answer = directory / "answer"
    returned = answer.read_text(encoding="ascii").strip() if answer.exists() else ""
    boot = BOOT_ID.read_text(encoding="ascii").strip()
    same_files, path = returned == token, trial.directory.parent
    elsewhere = told("Containers do not run on this machine's kernel: the engine is elsewhere.")
    blind = told("Containers do not see the files in %(path)s.", path=path)
    return [
        Check(
            "engine-kernel",
            boot in output,
            told("Containers run on this machine's kernel.") if boot in output else joined(elsewhere, *failure),
            fix=OWN_ENGINE_FIX,
        ),
        Check(
            "engine-files",
            same_files,
            told("Containers see the files in %(path)s.", path=path) if same_files else joined(blind, *failure),
            fix=OWN_ENGINE_FIX,
        ),
    ]


def _overlay(trial: _Trial) -> Check:
    """Try whether the engine mounts an overlay in this directory, and what is written into it lands in its upper."""
    where = trial.directory.parent
    lower, upper, work = (trial.directory / part for part in ("lower", "upper", "work"))
    for path in (lower, upper, work):
        path.mkdir()
    (lower / "token").write_text("below\n", encoding="ascii")
    options = {"type": "overlay", "device": "overlay", "o": f"lowerdir={lower},upperdir={upper},workdir={work}"}
    mount = Mount("/probe", trial.name, type="volume", no_copy=True, driver_config=DriverConfig("local", options))
    try:
        _run(trial, OVERLAY_SCRIPT, mount)
    except (DockerException, requests.RequestException) as error:
        failure = _said(error)
    else:
        changed = upper / "token"
        failure = "" if changed.exists() and (upper / "answer").exists() else told("it came up read-only")
    finally:
        with suppress(NotFound):
            trial.docker.volumes.get(trial.name).remove()
    return Check(
        "engine-overlay",
        not failure,
        told("Overlays in %(path)s do not mount read-write: %(why)s", path=where, why=failure)
        if failure
        else told("Overlays in %(path)s mount read-write.", path=where),
        fix=told("Put the data directory on a local ext4, xfs or btrfs file system: bancada up --data DIR"),
    )


def _run(trial: _Trial, script: str, mount: Mount) -> str:
    """Run one short container and return what it wrote; a script that fails shows in what it left undone."""
    container = trial.docker.containers.create(
        trial.image,
        ["-c", script],
        entrypoint=[str(SHELL)],
        labels={"bancada.probe": trial.name},
        mem_limit="64m",
        mounts=[mount],
        network_mode="none",
        pids_limit=64,
        user="0:0",
    )
    try:
        container.start()
        container.wait(timeout=ANSWER_WITHIN_S)
        return str(container.logs(stdout=True, stderr=True).decode(errors="replace"))
    finally:
        container.remove(force=True)


@contextmanager
def _image(docker_client: docker.DockerClient, name: str, base_image: str | None) -> Iterator[str]:
    """Give the image to run: the one named, or one made for the moment."""
    if base_image:
        yield base_image
        return
    reference = f"{name}:probe"
    docker_client.api.import_image_from_data(shell_archive(), repository=name, tag="probe")
    try:
        yield reference
    finally:
        docker_client.images.remove(reference, force=True)


def shell_archive() -> bytes:
    """Return a tar archive of this machine's shell and the libraries that it loads."""
    listed = subprocess.run(["ldd", str(SHELL)], capture_output=True, text=True, check=False)
    libraries = [word for line in listed.stdout.splitlines() for word in line.split() if word.startswith("/")]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in (SHELL, *map(Path, libraries)):
            archive.add(path.resolve(), arcname=str(path).lstrip("/"))
    return buffer.getvalue()


def _said(error: Exception) -> str:
    """Return an engine's own words without the client's wrapping."""
    return str(getattr(error, "explanation", None) or error)
