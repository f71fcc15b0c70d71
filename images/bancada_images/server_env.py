"""The server environment, `/opt/bancada`: what serves JupyterLab, apart from all images.

It is made once per release and base, laid out on the host and bound read-only into every server, so that an upgrade
of the platform touches no image. The process engine makes plain environments from the same locks.
"""

import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import docker
from docker.errors import DockerException

from bancada_images import bytecode
from bancada_images.base import BaseImage
from bancada_images.build import compile_environment, engine_trouble, environment_binds, make_environment
from bancada_images.container import BuildContainer
from bancada_images.errors import BuildError, SpecError
from bancada_images.layout import Layout, lay_out_container, read_layout
from bancada_images.lock import Lock, read_lock
from bancada_images.progress import Cancelled, Progress
from bancada_images.sources import PackageSources
from bancada_images.wheel import wheel_hash

SERVER_FOLDER = "/opt/bancada"
_INSTALL = ("-I", "-m", "bancada.server.install")
_STAMP = ".bancada-environment"


def server_key(lock: Lock, wheel: Path, base: BaseImage) -> str:
    """Return the 12 hex digits that name a server environment of these inputs."""
    inputs = "\n".join((lock.sha256, wheel_hash(wheel), base.id))
    return hashlib.sha256(inputs.encode()).hexdigest()[:12]


def ensure_server_environment(  # noqa: PLR0913 - a server environment is made of exactly these
    client: docker.DockerClient,
    base: BaseImage,
    folder: Path,
    wheel: Path,
    sources: PackageSources,
    *,
    uv: Path,
    target_parent: Path,
    labels: Mapping[str, str],
    say: Progress,
    cancelled: Cancelled,
) -> Layout:
    """Make the server environment of a base and lay it out, or return the one that is there.

    Args:
        client: The engine.
        base: The base it is made in: its interpreter must be there at run time.
        folder: Holds `requirements.in` and `requirements.lock`.
        wheel: The wheel of `bancada`.
        sources: The site's package sources.
        uv: The uv program, on the host.
        target_parent: Gets the folder `server-<key>`.
        labels: The site's labels, for the build container.
        say: Told each step.
        cancelled: Asked several times a second.

    Raises:
        SpecError: The lock has another JupyterHub than this site's hub.
        BuildError: The build failed; nothing is left of it.
        BuildCancelled: Somebody asked to stop; nothing is left of it.
    """
    lock = read_lock(folder)
    require_hub_version(lock, importlib.metadata.version("jupyterhub"))
    target = target_parent / f"server-{server_key(lock, wheel, base)}"
    done = read_layout(target)
    if done is not None:
        say("Server environment: already there", 1.0)
        return done

    say("Server environment: making it", 0.0)
    try:
        with BuildContainer(
            client, base.id, sources, labels, environment_binds(uv, lock, wheel), cancelled
        ) as container:
            return _make_server_environment(container, target, say)
    except DockerException as problem:
        raise engine_trouble("the server environment", sources, problem) from problem


def _make_server_environment(container: BuildContainer, target: Path, say: Progress) -> Layout:
    def tell(text: str, done: float | None = None) -> None:
        say(f"Server environment: {text}", done)

    make_environment(container, SERVER_FOLDER, tell)
    tell("setting JupyterLab up", 0.8)
    install = [f"{SERVER_FOLDER}/bin/python", *_INSTALL]
    container.must(install, "Setting JupyterLab up", fix="Report this: a release of Bancada is at fault.")
    compile_environment(container, SERVER_FOLDER, tell)
    tell("laying it out", 0.85)
    return lay_out_container(container.container, SERVER_FOLDER, target, tell)


def require_hub_version(lock: Lock, hub_version: str) -> None:
    """Refuse a server environment whose JupyterHub is not the hub's: they speak one protocol.

    Args:
        lock: The server environment's.
        hub_version: The version that the hub runs.

    Raises:
        SpecError: They differ.
    """
    locked = lock.versions("jupyterhub")
    if locked != {hub_version}:
        raise SpecError(
            f"The hub runs JupyterHub {hub_version}, the server environment's lock has "
            f"{' and '.join(sorted(locked)) or 'none'}: a server of another version may not answer the hub.",
            fix=f"Write jupyterhub=={hub_version} into {lock.path.with_name('requirements.in')} and refresh the lock.",
        )


def ensure_process_environment(  # noqa: PLR0913 - the last has a default
    lock: Lock,
    wheel: Path,
    sources: PackageSources,
    *,
    uv: Path,
    python: Path,
    target: Path,
    say: Progress | None = None,
) -> Path:
    """Make an environment of a lock on the host, for servers without containers; or return the one that is there.

    A virtual environment cannot be moved, so it is made in place: a stamp, written last, says that it is complete.
    Without one, whatever is there is made again.

    Args:
        lock: A work environment's lock, or the server environment's.
        wheel: The wheel of `bancada`.
        sources: The site's package sources.
        uv: The uv program.
        python: The interpreter it is made from.
        target: Its folder.
        say: Told each step.

    Raises:
        BuildError: The build failed.
    """
    stamp, inputs = target / _STAMP, {"lock": lock.sha256, "wheel": wheel_hash(wheel), "python": str(python)}
    if _stamped(stamp) == inputs:
        return target
    tell = say or (lambda _text, _done=None: None)
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _make_process_environment(lock, wheel, sources, [uv, python, target], tell)
    stamp.write_text(json.dumps(inputs), encoding="utf-8")
    tell(f"{target.name}: ready", 1.0)
    return target


def _make_process_environment(
    lock: Lock, wheel: Path, sources: PackageSources, paths: list[Path], tell: Progress
) -> None:
    uv, python, target = paths
    inside = target / "bin" / "python"
    offline = ["--no-index"] if sources.offline else []
    own = [f"--find-links={wheel.parent}", "--no-index", "--no-deps", "bancada"]
    tell(f"{target.name}: making the environment", 0.1)
    _host(sources, [uv, "venv", "--quiet", "--python", python, target])
    tell(f"{target.name}: installing packages", 0.2)
    sync: list[str | Path] = [uv, "pip", "sync", "--python", inside, "--require-hashes", "--compile-bytecode"]
    _host(sources, [*sync, *offline, lock.path])
    _host(sources, [uv, "pip", "install", "--python", inside, *own])
    if lock.versions("jupyterlab"):
        tell(f"{target.name}: setting JupyterLab up", 0.8)
        _host(sources, [inside, *_INSTALL])
    tell(f"{target.name}: compiling all modules", 0.9)
    _host(sources, [inside, "-I", Path(bytecode.__file__), target / "lib"])


def _stamped(stamp: Path) -> object:
    try:
        return json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _host(sources: PackageSources, command: list[str | Path]) -> None:
    """Run one step on the host, with the site's package sources and nobody's own uv settings."""
    settings = {"UV_LINK_MODE": "copy", "UV_NO_CONFIG": "1", "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(part) for part in command],
        env=kept | settings | sources.host_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = sources.masked((done.stderr or done.stdout).strip())[-2000:]
        raise BuildError(
            f"{Path(str(command[0])).name} {command[1]} failed with exit code {done.returncode}:\n{tail}",
            fix="Check the site's package sources (index_url, wheelhouse, ca_bundle, http_proxy), then run again.",
        )
