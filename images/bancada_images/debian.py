"""Make a root file system from Debian's packages, as a stream of tar, with mmdebstrap.

For sites that can reach Debian's packages but no image registry. What the site's machine adds (proxy, certificate
authority, mirror, resolver, host name) serves the making and is not in the result.
"""

import os
import selectors
import shutil
import signal
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bancada_images.errors import BuildCancelled, BuildError
from bancada_images.progress import Cancelled, Progress
from bancada_images.sources import PackageSources
from bancada_images.spec import ImageSpec

RECIPE = "1"
"""Counts up when the commands below change what is in a base."""

PACKAGES = (
    *("python3", "python3-venv", "python3-dev", "build-essential"),
    *("ca-certificates", "git", "openssh-client", "curl", "less", "procps", "tzdata"),
)
ENVIRONMENT_GROUP = ("bancada-env", 1999999)
MOUNT_POINTS = ("/opt/env", "/opt/bancada", "/home", "/project", "/data", "/examples", "/places", "/state")

# Files newer than this get this date, so that equal packages give equal content.
_EPOCH = "1704067200"
_LEFT_OUT = (
    *("path-exclude=/usr/share/man/*", "path-exclude=/usr/share/info/*", "path-exclude=/usr/share/locale/*"),
    *("path-exclude=/usr/share/doc/*", "path-include=/usr/share/doc/*/copyright"),
)
_STEPS = {
    "I: running apt-get update": ("reading Debian's package lists", 0.05),
    "I: downloading packages": ("downloading Debian packages", 0.1),
    "I: extracting archives": ("unpacking the essential packages", 0.35),
    "I: installing essential": ("installing the essential packages", 0.4),
    "I: installing remaining": ("installing the other packages", 0.5),
    "I: creating tarball": ("handing the base to the engine", 0.9),
}
_PREFIX = "bancada-base-"
_POLL_S = 0.2
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Bootstrap:
    """What to make, and from where.

    Attributes:
        spec: Says the suite and the packages beyond those of every base.
        sources: The site's mirror, proxies and certificate authority.
        scratch: Existing folder for the work; nothing is left in it.
    """

    spec: ImageSpec
    sources: PackageSources
    scratch: Path

    @property
    def packages(self) -> tuple[str, ...]:
        """All Debian packages of the base, sorted."""
        return tuple(sorted({*PACKAGES, *self.spec.apt}))

    def arguments(self) -> list[str]:
        """Return mmdebstrap's command line."""
        # A mount name space of its own: however mmdebstrap ends, no /proc stays mounted below the scratch folder.
        command = ["unshare", "--mount", "mmdebstrap", "--mode=root", "--variant=minbase", "--format=tar"]
        command += [f"--include={','.join(self.packages)}", *(f"--dpkgopt={option}" for option in _LEFT_OUT)]
        if self.sources.ca_bundle:
            command.append(f'--aptopt=Acquire::https::CAInfo "{self.sources.ca_bundle}"')
        command += [f"--customize-hook={hook}" for hook in self._hooks()]
        return [*command, self.spec.suite, "-", *self._mirrors()]

    def environment(self, temporary: Path) -> dict[str, str]:
        """Return mmdebstrap's whole environment: nothing of the caller's reaches the packages' scripts."""
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(temporary),
            "SOURCE_DATE_EPOCH": _EPOCH,
            # The environment, not an apt option: a proxy's password must not stand in a process list.
            **self.sources.proxy_environment(),
        }

    def _hooks(self) -> list[str]:
        group, gid = ENVIRONMENT_GROUP
        # Dates are cut to the epoch, which would make bytecode of newer packages stale: compile it by hash.
        compile_all = "python3 -m compileall -q -f -j 0 --invalidation-mode unchecked-hash /usr/lib/python3*"
        traces = ("etc/hostname", "etc/resolv.conf", "etc/machine-id", "etc/apt/apt.conf.d/99mmdebstrap")
        logs = ("var/log/*.log", "var/log/apt/*")
        hooks = [
            f'chroot "$1" groupadd --gid {gid} {group}',
            f'chroot "$1" mkdir -p {" ".join(MOUNT_POINTS)}',
            f'chroot "$1" sh -c "{compile_all}" || true',
            "rm -f " + " ".join(f'"$1"/{path}' for path in (*traces, *logs)),
        ]
        if self.sources.debian_mirror:
            hooks.append('rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*')
        return hooks

    def _mirrors(self) -> list[str]:
        mirror = self.sources.debian_mirror
        if mirror is None:
            return []  # mmdebstrap knows Debian's own, with updates and security
        mirror, suite = mirror.rstrip("/"), self.spec.suite
        lines = [f"deb {mirror} {suite} main", f"deb {mirror} {suite}-updates main"]
        security = f"{mirror.removesuffix('-security')}-security"
        if _is_there(f"{security}/dists/{suite}-security/InRelease", self.sources):
            lines.append(f"deb {security} {suite}-security main")
        return lines


@contextmanager
def bootstrap(what: Bootstrap, say: Progress, cancelled: Cancelled) -> Iterator[Iterator[bytes]]:
    """Run mmdebstrap and hand over its output, a tar stream, chunk by chunk.

    The stream raises instead of ending when mmdebstrap fails or somebody asks to stop, so that no reader takes a part
    for the whole.

    Raises:
        BuildError: mmdebstrap is missing or failed.
        BuildCancelled: Somebody asked to stop.
    """
    _remove_remains(what.scratch)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=what.scratch) as name:
        temporary = Path(name)
        temporary.chmod(0o755)  # apt downloads as a user of its own
        try:
            process = subprocess.Popen(
                what.arguments(),
                env=what.environment(temporary),
                cwd=temporary,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as problem:
            raise BuildError(
                f"{problem.filename} is not installed: the base is made with it.",
                fix="Run: apt-get install --no-install-recommends mmdebstrap debian-archive-keyring util-linux",
            ) from problem
        try:
            yield _stream(process, what, say, cancelled)
        finally:
            _end(process)


def _stream(process: subprocess.Popen[bytes], what: Bootstrap, say: Progress, cancelled: Cancelled) -> Iterator[bytes]:
    assert process.stdout is not None  # noqa: S101 - Popen was asked for both pipes
    assert process.stderr is not None  # noqa: S101 - the same
    log = _Log(process.stderr, what.sources, say)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            if cancelled():
                raise BuildCancelled
            for key, _ in selector.select(_POLL_S):
                if key.fileobj is process.stderr:
                    if not log.read():
                        selector.unregister(process.stderr)
                    continue
                chunk = os.read(process.stdout.fileno(), _CHUNK_BYTES)
                if chunk:
                    yield chunk
                else:
                    selector.unregister(process.stdout)
    if process.wait() != 0:
        raise BuildError(
            f"The base of {what.spec.suite} could not be made from Debian's packages:\n{log.tail()}",
            fix="Check that this machine reaches the Debian mirror (site keys debian_mirror, http_proxy, ca_bundle).",
        )


class _Log:
    """Reads mmdebstrap's messages: known steps become progress, the last lines explain a failure."""

    def __init__(self, pipe: IO[bytes], sources: PackageSources, say: Progress) -> None:
        self._pipe, self._sources, self._say = pipe, sources, say
        self._part = ""
        self._lines: list[str] = []

    def read(self) -> bool:
        """Take what is there; false at the end."""
        chunk = os.read(self._pipe.fileno(), 65536)
        *lines, self._part = (self._part + chunk.decode(errors="replace")).replace("\r", "\n").split("\n")
        for line in lines:
            self._lines = [*self._lines[-40:], self._sources.masked(line)]
            for start, (text, done) in _STEPS.items():
                if line.startswith(start):
                    self._say(f"Base: {text}", done)
        return bool(chunk)

    def tail(self) -> str:
        """Return the last lines that say what failed."""
        telling = [line for line in self._lines if line.startswith(("E:", "W:", "Err", "dpkg:"))]
        return "\n".join((telling or self._lines)[-8:])


def _end(process: subprocess.Popen[bytes]) -> None:
    """End mmdebstrap and all it started: first by asking, so that it unmounts and deletes, then by force."""
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    for signal_number, patience_s in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal_number)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            continue


def _remove_remains(scratch: Path) -> None:
    """Remove what a killed run left; its mounts ended with its mount name space."""
    for remains in scratch.glob(f"{_PREFIX}*-*"):
        pid = remains.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path(f"/proc/{pid}").exists():
            shutil.rmtree(remains)


def _is_there(address: str, sources: PackageSources) -> bool:
    """Ask a mirror for a file. Mirrors differ in what they carry, and apt fails on a suite that is not there."""
    proxies = {"http": sources.http_proxy, "https": sources.https_proxy}
    handlers: list[urllib.request.BaseHandler] = [
        urllib.request.ProxyHandler({scheme: proxy for scheme, proxy in proxies.items() if proxy})
    ]
    if sources.ca_bundle:
        handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=sources.ca_bundle)))
    request = urllib.request.Request(address, method="HEAD")  # noqa: S310 - the site's own setting
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=20):
            return True
    except (urllib.error.URLError, OSError, ValueError):
        return False
