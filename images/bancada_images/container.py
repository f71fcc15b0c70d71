"""A container in which an image or an environment is built, step by step, through the engine's API.

Steps are processes started by `exec`, each with an environment of its own: what the site adds (index, certificate
authority, proxies) never reaches the image's configuration. What they need lies on a volume at `/run/bancada-build`
with read-only binds inside it: none of it is in the layer. The container is always removed.
"""

import os
import queue
import shlex
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import docker
from docker.errors import DockerException, NotFound
from docker.models.containers import Container
from docker.types import Mount

from bancada_images.errors import BuildCancelled, BuildError
from bancada_images.progress import Cancelled, never
from bancada_images.sources import BUILD_FOLDER, PackageSources, ReadOnlyBind

BUILD_LABEL = "bancada.build"
OWNER_LABEL = "bancada.build.owner"
_LOW_CPU_SHARES = 256  # a quarter of what a server gets when both want the processor
_TAIL_LINES = 12
_SOURCES = "Check the site's package sources (index_url, wheelhouse, ca_bundle, http_proxy), then run again."


@dataclass(frozen=True)
class Finished:
    """How one step ended."""

    exit_code: int
    lines: tuple[str, ...]


@dataclass
class BuildContainer:
    """A running container of a base image; a context manager that removes it whatever happens.

    Attributes:
        client: The engine.
        image: The base image's id.
        sources: The site's package sources.
        labels: The site's labels, on the container only.
        binds: Files of the host that the steps need.
        cancelled: Asked several times a second while a step runs.
    """

    client: docker.DockerClient
    image: str
    sources: PackageSources
    labels: Mapping[str, str]
    binds: Sequence[ReadOnlyBind] = ()
    cancelled: Cancelled = never
    _container: Container | None = field(default=None, init=False)

    @property
    def container(self) -> Container:
        """The engine's container, while it exists."""
        if self._container is None:
            message = "the build container is used outside its with block"
            raise RuntimeError(message)
        return self._container

    def __enter__(self) -> Self:
        remove_stale(self.client, self.labels)
        mounts = [Mount(f"{BUILD_FOLDER}/work", None, type="volume")]
        for bind in (*self.binds, *self.sources.build_binds()):
            _require(bind.source)
            # The real file: a link of the host, as Debian's certificates are, would lead nowhere in a container.
            mounts.append(Mount(bind.target, str(bind.source.resolve()), type="bind", read_only=True))
        # Not `volumes`: those would be written into the image's configuration.
        self._container = self.client.containers.create(
            self.image,
            entrypoint=["sleep"],
            command=["infinity"],
            labels={**self.labels, BUILD_LABEL: "1", OWNER_LABEL: _owner(os.getpid())},
            mounts=mounts,
            tmpfs={"/run": "mode=755"},  # so that the mount points below it are in no layer either
            network_mode="none" if self.sources.offline else "bridge",
            cpu_shares=_LOW_CPU_SHARES,
        )
        try:
            self._container.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def run(self, command: Sequence[str], on_line: Callable[[str], None] | None = None) -> Finished:
        """Run one step as root and wait for its end.

        Args:
            command: Program and arguments.
            on_line: Told each line of output as it comes, credentials masked.

        Raises:
            BuildCancelled: Somebody asked to stop.
        """
        work = f"{BUILD_FOLDER}/work"
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            **dict.fromkeys(("HOME", "TMPDIR"), work),
            "UV_CACHE_DIR": f"{work}/cache",
            "UV_LINK_MODE": "copy",
            "UV_NO_CONFIG": "1",
            "UV_NO_PROGRESS": "1",
            "UV_PYTHON_DOWNLOADS": "never",
            **self.sources.build_environment(),
        }
        api = self.client.api
        started = api.exec_create(self.container.id, list(command), user="0", workdir="/", environment=environment)
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_pump, args=(api.exec_start(started["Id"], stream=True), lines), daemon=True)
        reader.start()
        kept: list[str] = []
        while (line := self._next(lines)) is not None:
            kept.append(self.sources.masked(line))
            if on_line is not None:
                on_line(kept[-1])
        return Finished(exit_code=int(api.exec_inspect(started["Id"])["ExitCode"] or 0), lines=tuple(kept))

    def must(
        self, command: Sequence[str], what: str, on_line: Callable[[str], None] | None = None, *, fix: str = _SOURCES
    ) -> Finished:
        """Run one step that has to succeed.

        Args:
            command: Program and arguments.
            what: What the step does, for the message when it fails.
            on_line: Told each line of output.
            fix: What to do when it fails.

        Raises:
            BuildError: The step failed; has its last lines.
            BuildCancelled: Somebody asked to stop.
        """
        finished = self.run(command, on_line)
        if finished.exit_code != 0:
            tail = "\n".join(finished.lines[-_TAIL_LINES:]) or f"{shlex.join(command[:3])} said nothing"
            raise BuildError(f"{what} failed with exit code {finished.exit_code}:\n{tail}", fix=fix)
        return finished

    def _next(self, lines: "queue.SimpleQueue[str | None]") -> str | None:
        while True:
            if self.cancelled():
                raise BuildCancelled
            with suppress(queue.Empty):
                return lines.get(timeout=0.2)

    def _remove(self) -> None:
        if self._container is not None:
            _remove(self._container)
            self._container = None


def remove_stale(client: docker.DockerClient, labels: Mapping[str, str]) -> int:
    """Remove build containers of the same site whose builder has died; return how many there were."""
    wanted = [f"{BUILD_LABEL}=1", *(f"{name}={value}" for name, value in labels.items())]
    stale = [
        container
        for container in client.containers.list(all=True, filters={"label": wanted}, ignore_removed=True)
        if not _is_alive(container.labels.get(OWNER_LABEL, ""))
    ]
    for container in stale:
        _remove(container)
    return len(stale)


def _remove(container: Container) -> None:
    with suppress(NotFound):
        container.remove(force=True, v=True)


def _pump(chunks: Iterable[bytes], lines: "queue.SimpleQueue[str | None]") -> None:
    """Cut a step's output into lines; None at the end, also when the container is taken away below it."""
    part = ""
    with suppress(DockerException, OSError, ValueError):
        for chunk in chunks:
            *whole, part = (part + chunk.decode(errors="replace")).replace("\r", "\n").split("\n")
            for line in whole:
                lines.put(line)
    if part:
        lines.put(part)
    lines.put(None)


def _owner(pid: int) -> str:
    """Name a process so that a later one with the same number is not taken for it; empty when it does not run."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # Field 22, counted after the command, which may itself contain spaces and brackets.
    return f"{pid}:{status.rpartition(')')[2].split()[19]}"


def _is_alive(owner: str) -> bool:
    pid = owner.partition(":")[0]
    return pid.isdigit() and _owner(int(pid)) == owner


def _require(path: Path) -> None:
    if not path.exists():
        raise BuildError(
            f"{path} does not exist, and the build needs it.",
            fix="Correct the site's settings (ca_bundle, wheelhouse), or run ./bancada up again.",
        )
