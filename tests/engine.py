"""A real Docker engine of the tests' own, which the machine's engine never notices.

It runs in a network namespace of its own (a second dockerd beside the first would delete its bridge), with its own
data root, socket, containerd namespace, control group and settings file. The data root is kept between runs, so that
images built once are found again; a lock refuses a second run on it at the same time.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import docker
from docker.errors import DockerException
from requests.exceptions import RequestException

from tests.leftovers import ROOT, clear_engine, end, locked
from tests.network import Network

READY_S = 60.0
STOP_S = 40.0
TRIES = 2
KEPT_IMAGES = timedelta(days=7)
PROGRAMS = {
    "dockerd": "docker.io",
    "containerd": "containerd",
    "iptables": "iptables",
    "nft": "nftables",
    "ip": "iproute2",
}


class EngineTroubleError(RuntimeError):
    """The tests' engine cannot be had on this machine, or did not come up."""


HOOK = str(Path(__file__).parent / "standin" / "hook")
"""What an engine needs to know the device driver “nvidia”."""


class TestEngine:
    """One engine and its namespace.

    `start` also clears what a killed run left; `stop` leaves nothing but the images. Between them `kill` ends the
    engine as a crash would, and `restart` brings it back with everything that stands in the namespace untouched.

    Args:
        root: Where the engine keeps everything. Its path decides all names, so another root is another engine.
        options: More options for dockerd.
        path: Folders put first into dockerd's PATH (it looks its hooks up there, once, at its start).
    """

    __test__ = False  # its name reads like a test class's

    def __init__(self, root: Path = ROOT / "engine", *, options: tuple[str, ...] = (), path: str = HOOK) -> None:
        self.root = root
        self.network = Network(root)
        self.host = f"unix://{root / 'docker.sock'}"
        self._options = options
        self._path = path
        self._daemon: subprocess.Popen[bytes] | None = None
        self._held = contextlib.ExitStack()

    @property
    def namespace(self) -> str:
        """The name of the network namespace, as `ip netns` shows it."""
        return self.network.name

    @property
    def log(self) -> Path:
        """What dockerd said in this run."""
        return self.root / "dockerd.log"

    def enter(self) -> contextlib.AbstractContextManager[None]:
        """Move the calling thread into the namespace; the processes it starts meanwhile stay there."""
        return self.network.enter()

    def start(self) -> "TestEngine":
        """Bring up namespace and engine, from nothing or after `kill`."""
        check_machine()
        if not self.network.path.exists() or not self._is_held:
            self._held.enter_context(locked(self.root))
            clear_engine(self.root)
            self.log.unlink(missing_ok=True)
            self.network.create()
            self._held.callback(clear_engine, self.root)
            self._start_daemon()
            self._tidy()
        else:
            self._start_daemon()
        return self

    def stop(self) -> None:
        """End everything in the namespace, the engine and its containers last, and remove the namespace."""
        if self._daemon is not None and self._daemon.poll() is None:
            daemons = set(self._daemon_processes())
            end(lambda: self.network.processes() - daemons - {os.getpid()})
            with contextlib.suppress(DockerException, RequestException):
                self._tidy()
            self._stop_daemon()
        self._held.close()

    def kill(self) -> None:
        """End the engine at once, as a crash would; its containers live on until it is back."""
        assert self._daemon is not None
        self._daemon.kill()
        self._daemon.wait()
        # Its containerd follows it. An engine that takes the one that just ended for alive waits 15 s for it.
        end(lambda: containerd_of(self.root))
        containerd_pid_file(self.root).unlink(missing_ok=True)

    def restart(self) -> None:
        """Stop the engine alone, if it runs, and start it again."""
        self._stop_daemon()
        self._start_daemon()

    def client(self) -> docker.DockerClient:
        """Return a new client of this engine."""
        return docker.DockerClient(base_url=self.host, timeout=120)

    def environment(self) -> dict[str, str]:
        """Return this process's environment, changed so that programs find this engine and no other."""
        dropped = {"DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"}
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        return {**kept, "DOCKER_HOST": self.host}

    @property
    def cards_file(self) -> Path:
        """Where the machine's cards stand, as tests make them up; without the file there are none."""
        return self.root / "cards.json"

    @property
    def _is_held(self) -> bool:
        return self._daemon is not None

    def _start_daemon(self) -> None:
        for left in range(TRIES - 1, -1, -1):
            self._daemon = self._launch()
            if self._answers():
                return
            self._stop_daemon()
            if left:  # an engine that follows a killed one too soon finds the old containerd half gone: once more
                end(lambda: containerd_of(self.root))
                containerd_pid_file(self.root).unlink(missing_ok=True)
        said = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        raise EngineTroubleError(f"dockerd did not come up in the namespace {self.namespace}:\n{said}")

    def _launch(self) -> subprocess.Popen[bytes]:
        settings = self.root / "daemon.json"
        settings.write_text("{}\n")  # never the machine's own
        command = ["dockerd", "--config-file", str(settings), "--data-root", str(self.root / "data")]
        command += ["--exec-root", str(self.root / "exec"), "--pidfile", str(self.root / "docker.pid")]
        command += ["--host", self.host, "--cgroup-parent", self.network.name]
        command += ["--exec-opt", "native.cgroupdriver=cgroupfs", "--containerd-namespace", self.network.name]
        command += ["--containerd-plugins-namespace", f"{self.network.name}-plugins", *self._options]
        environment = {**os.environ, "PATH": os.pathsep.join(filter(None, (self._path, os.environ["PATH"])))}
        environment["STANDIN_CARDS"] = str(self.cards_file)  # for the stand-in for NVIDIA's hook
        with self.enter(), self.log.open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )

    def _answers(self) -> bool:
        assert self._daemon is not None
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and self._daemon.poll() is None:
            with contextlib.suppress(DockerException, RequestException):
                with contextlib.closing(self.client()) as client:
                    client.ping()
                return True
            time.sleep(0.1)
        return False

    def _stop_daemon(self) -> None:
        if self._daemon is None or self._daemon.poll() is not None:
            return
        self._daemon.send_signal(signal.SIGTERM)
        try:
            self._daemon.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self._daemon.kill()
            self._daemon.wait()

    def _daemon_processes(self) -> Iterator[int]:
        """Return the engine and everything that it started."""
        assert self._daemon is not None
        yield self._daemon.pid
        yield from containerd_of(self.root)
        for pid in self.network.processes():
            with contextlib.suppress(OSError):
                name = Path(f"/proc/{pid}/comm").read_text().strip()
                if name.startswith(("containerd-shim", "docker-proxy")):
                    yield pid

    def _tidy(self) -> None:
        """Remove all containers, networks and volumes, each a test's, and the images of long ago."""
        with contextlib.closing(self.client()) as client:
            for container in client.containers.list(all=True, ignore_removed=True):
                container.remove(force=True, v=True)
            client.networks.prune()
            for volume in client.volumes.list():
                volume.remove(force=True)
            client.images.prune(filters={"dangling": True})
            for image in client.images.list():
                if is_old(image.attrs["Metadata"]["LastTagTime"]):
                    client.images.remove(image.id, force=True)


def is_old(tagged: str) -> bool:
    """Say whether an image was made so long ago that no later state of the sources will want it.

    The engine gives the year 1 for an image that was loaded from an archive: when that was is unknown.
    """
    moment = datetime.fromisoformat(tagged[:19]).replace(tzinfo=UTC)
    return moment.year > 1 and datetime.now(UTC) - moment > KEPT_IMAGES


def containerd_pid_file(root: Path) -> Path:
    """Return where an engine notes the containerd that it started."""
    return root / "exec" / "containerd" / "containerd.pid"


def containerd_of(root: Path) -> set[int]:
    """Return the process id of the containerd that an engine started, if it runs."""
    with contextlib.suppress(OSError, ValueError):
        pid = int(containerd_pid_file(root).read_text())
        if os.fsencode(root) in Path(f"/proc/{pid}/cmdline").read_bytes():
            return {pid}
    return set()


def check_machine() -> None:
    """Say in one sentence what this machine lacks for an engine of the tests' own."""
    if os.geteuid() != 0:
        raise EngineTroubleError("Tests with an engine need root. Run them as root, or without: ./bancada test --quick")
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    if missing:
        raise EngineTroubleError(
            f"Tests with an engine need {' '.join(missing)}. Install: ./bancada test --yes, "
            f"or apt-get install {' '.join(missing)}"
        )
