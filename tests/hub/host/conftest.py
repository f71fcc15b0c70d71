"""What the tests of the machine share: an engine of their own."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from bancada_hub.errors import EngineError
from bancada_hub.host import daemon, engine


@dataclass(frozen=True)
class PrivateEngine:
    """An engine that the tests may kill: without networks, in its own network and mount namespaces."""

    host: str
    directory: Path
    hidden: Path  # a directory in whose place the engine sees another, empty file system

    @property
    def pidfile(self) -> Path:
        return self.directory / "pid"

    @property
    def log(self) -> Path:
        return self.directory / "log"

    def answers(self) -> bool:
        try:
            engine.find_engine(timeout_s=2)
        except EngineError:
            return False
        return True

    def daemon(self) -> daemon.Daemon:
        options = [
            f"--host={self.host}",
            f"--data-root={self.directory}/data",
            f"--exec-root={self.directory}/exec",
            f"--pidfile={self.pidfile}",
            f"--config-file={self.directory}/daemon.json",
            "--cgroup-parent=/bancada-host-tests",
            "--bridge=none",
            "--iptables=false",
        ]
        hide = f'mount -t tmpfs tmpfs {self.hidden} && exec dockerd "$@"'
        return daemon.Daemon(
            command=("unshare", "--net", "--mount", "sh", "-c", hide, "dockerd", *options),
            pidfile=self.pidfile,
            settings=self.directory / "daemon.json",
        )

    def pid(self) -> int:
        return int(self.pidfile.read_text())

    def kill(self) -> None:
        """End the engine as a crash does: at once, its pid file and socket left behind."""
        process = psutil.Process(self.pid())
        process.kill()
        process.wait(timeout=10)

    def remove(self) -> None:
        try:
            process = psutil.Process(self.pid())
            children = process.children(recursive=True)
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=20)
            psutil.wait_procs(children, timeout=10)
        except (FileNotFoundError, psutil.NoSuchProcess):
            pass
        subprocess.run(["rm", "-rf", str(self.directory)], check=True)


@pytest.fixture(scope="session")
def private_engine() -> Iterator[PrivateEngine]:
    """Start an engine for these tests; it is there, but DOCKER_HOST is set only by `own_engine`."""
    directory = Path(f"/var/tmp/bancada-host-{os.getpid()}")
    hidden = directory / "hidden"
    hidden.mkdir(parents=True)
    (directory / "daemon.json").write_text("{}")
    private = PrivateEngine(f"unix://{directory}/engine.sock", directory, hidden)
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = private.host
    try:
        daemon.start_detached(private.daemon(), private.log, private.answers, lambda said: None)
        yield private
    finally:
        private.remove()
        os.environ.pop("DOCKER_HOST")
        if before is not None:
            os.environ["DOCKER_HOST"] = before


@pytest.fixture
def own_engine(private_engine: PrivateEngine, monkeypatch: pytest.MonkeyPatch) -> PrivateEngine:
    """The private engine, as the one that DOCKER_HOST names."""
    monkeypatch.setenv("DOCKER_HOST", private_engine.host)
    return private_engine
