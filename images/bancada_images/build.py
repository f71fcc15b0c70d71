"""Build an image of the catalog: a base, and the work environment of a lock in `/opt/env`.

The image's tag is the hash of all that goes into it. Equal inputs give the same tag, and nothing is built twice.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import DockerException, ImageNotFound

from bancada_images import bytecode
from bancada_images.base import BaseImage, require_space
from bancada_images.container import BUILD_LABEL, OWNER_LABEL, BuildContainer, remove_stale
from bancada_images.debian import ENVIRONMENT_GROUP, MOUNT_POINTS
from bancada_images.errors import BuildError
from bancada_images.lock import Lock
from bancada_images.progress import Cancelled, Progress
from bancada_images.sources import BUILD_FOLDER, PackageSources, ReadOnlyBind
from bancada_images.spec import ImageSpec
from bancada_images.wheel import wheel_hash

__all__ = ["BuildContainer", "BuiltImage", "build_image", "image_tag", "remove_stale"]

NEEDED_BYTES = 2 << 30
_UV = f"{BUILD_FOLDER}/uv"
_LOCK = f"{BUILD_FOLDER}/requirements.lock"
_WHEELS = f"{BUILD_FOLDER}/wheels"
_ENVIRONMENT = "/opt/env"


@dataclass(frozen=True)
class BuiltImage:
    """An image that is in the engine.

    Attributes:
        id: Its config digest.
        tag: An immutable local name.
        size_bytes: All its layers, the base's too.
        python: Full version of its Python.
        spec_hash: SHA-256 of its spec.
        lock_hash: SHA-256 of its lock.
        base_id: Config digest of its base.
        seconds: How long the build took; 0 when it was there already.
    """

    id: str
    tag: str
    size_bytes: int
    python: str
    spec_hash: str
    lock_hash: str
    base_id: str
    seconds: float


def image_tag(spec: ImageSpec, lock: Lock, wheel: Path, base: BaseImage) -> str:
    """Return the name that an image of these inputs has."""
    inputs = "\n".join((spec.spec_hash, lock.sha256, wheel_hash(wheel), base.id))
    return f"bancada-{spec.key}:{hashlib.sha256(inputs.encode()).hexdigest()[:12]}"


def build_image(  # noqa: PLR0913 - an image is made of exactly these
    client: docker.DockerClient,
    spec: ImageSpec,
    lock: Lock,
    base: BaseImage,
    wheel: Path,
    sources: PackageSources,
    *,
    uv: Path,
    labels: Mapping[str, str],
    say: Progress,
    cancelled: Cancelled,
    needed_bytes: int = NEEDED_BYTES,
) -> BuiltImage:
    """Build an image, or return the one that equal inputs gave before.

    Args:
        client: The engine.
        spec: The image's spec.
        lock: What its work environment holds.
        base: What it stands on.
        wheel: The wheel of `bancada`.
        sources: The site's package sources: they leave no trace.
        uv: The uv program, on the host.
        labels: The site's labels, for the build container only.
        say: Told each step.
        cancelled: Asked several times a second.
        needed_bytes: What must be free on the engine's disk.

    Raises:
        BuildError: The build failed, or was cancelled (BuildCancelled); nothing is left of it.
    """
    tag = image_tag(spec, lock, wheel, base)
    existing = _existing(client, tag)
    if existing is not None:
        say(f"{spec.title}: already built", 1.0)
        return existing
    _require_engine_space(client, needed_bytes, f"the image {spec.title}")
    began_s = time.monotonic()
    try:
        with BuildContainer(
            client, base.id, sources, labels, environment_binds(uv, lock, wheel), cancelled
        ) as container:
            python = _install(container, spec, say)
            say(f"{spec.title}: writing the image", 0.9)
            _commit(container, tag, _image_labels(spec, lock, wheel, base, python))
    except DockerException as problem:
        raise engine_trouble(spec.title, sources, problem) from problem
    say(f"{spec.title}: built", 1.0)
    return _built(client, tag, time.monotonic() - began_s)


def engine_trouble(what: str, sources: PackageSources, problem: DockerException) -> BuildError:
    """Return the error that says, without credentials, what the engine said while something was built."""
    text = sources.masked(str(getattr(problem, "explanation", None) or problem))
    return BuildError(f"The engine could not build {what}: {text}.", fix="Run: ./bancada doctor")


def environment_binds(uv: Path, lock: Lock, wheel: Path) -> tuple[ReadOnlyBind, ...]:
    """Return what `make_environment` needs to see."""
    wheels = ReadOnlyBind(wheel, f"{_WHEELS}/{wheel.name}")
    return ReadOnlyBind(uv, _UV), ReadOnlyBind(lock.path, _LOCK), wheels


def make_environment(container: BuildContainer, folder: str, say: Progress) -> str:
    """Make a virtual environment of a lock and `bancada` in a build container.

    Args:
        container: Sees `environment_binds`.
        folder: Where, in the container.
        say: Told each step.

    Returns:
        The full version of its Python.

    Raises:
        BuildError: A step failed, or a module is left without bytecode.
    """
    python = f"{folder}/bin/python"
    say("making the environment", 0.1)
    # The mount point is there already, empty: uv is told to use it.
    container.must(
        [_UV, "venv", "--quiet", "--allow-existing", "--python", "/usr/bin/python3", folder],
        "Making the environment",
    )
    say("installing packages", 0.2)
    offline = ["--no-index"] if container.sources.offline else []
    sync = [_UV, "pip", "sync", "--python", python, "--require-hashes", "--compile-bytecode", *offline, _LOCK]
    container.must(sync, "Installing the packages of the lock", lambda line: _tell(line, say))
    # By name from a folder, not by path: a path would be written into the environment as its origin.
    own = [_UV, "pip", "install", "--python", python, "--no-deps", "--no-index", "--find-links", _WHEELS, "bancada"]
    container.must(own, "Installing bancada")
    container.must(["rm", "-f", f"{folder}/.lock"], "Removing uv's lock file")  # anyone may write it
    compile_environment(container, folder, say)
    version = container.must([python, "-c", "import platform; print(platform.python_version())"], "Starting Python")
    return version.lines[-1]


def _tell(line: str, say: Progress) -> None:
    """Pass on what uv says while it works, without its list of a line a package."""
    if line.strip().startswith(("Resolved", "Downloading", "Prepared", "Installed")):
        say(line.strip())


def compile_environment(container: BuildContainer, folder: str, say: Progress) -> None:
    """Compile all modules of an environment in a build container, and check that none is left out.

    Raises:
        BuildError: A module is left without bytecode.
    """
    say("compiling all modules", 0.7)
    source = Path(bytecode.__file__).read_text(encoding="utf-8")
    found = container.run([f"{folder}/bin/python", "-I", "-c", source, f"{folder}/lib"])
    if found.exit_code != 0:
        answer = next((line for line in reversed(found.lines) if line.startswith("{")), None)
        missing = json.loads(answer)["missing"] if answer else list(found.lines[-3:])
        raise BuildError(
            f"{len(missing)} modules of {folder} could not be compiled:\n" + "\n".join(missing[:3]),
            fix="Run: ./bancada up",
        )


def _install(container: BuildContainer, spec: ImageSpec, say: Progress) -> str:
    group, gid = ENVIRONMENT_GROUP
    _prepare = f"getent group {gid} >/dev/null || groupadd --gid {gid} {group}; mkdir -p {' '.join(MOUNT_POINTS)}"
    container.must(["sh", "-c", _prepare], "Preparing the base")
    python = make_environment(container, _ENVIRONMENT, lambda text, done=None: say(f"{spec.title}: {text}", done))
    if python.rpartition(".")[0] != spec.python:
        raise BuildError(
            f"The base has Python {python}, the image {spec.key} says {spec.python}.",
            fix="Change suite and python in its image.toml, or the site key base_image.",
        )
    say(f"{spec.title}: opening the environment to its group", 0.8)
    # Group first: giving a file away clears the set-group-id bit.
    script = (
        f"chgrp -hR {gid} {_ENVIRONMENT} && find {_ENVIRONMENT} -type d -exec chmod 2775 {{}} + && "
        f"find {_ENVIRONMENT} -type f -exec chmod g+w {{}} +"
    )
    container.must(["sh", "-c", script], "Opening the environment to its group")
    return python


def _commit(container: BuildContainer, tag: str, labels: dict[str, str]) -> None:
    """Write the container's layer and a configuration of our own as an image.

    The engine adds what the container's configuration has and the given one has not: labels of the build are
    overwritten with nothing, or a server from this image would look like a build.
    """
    inherited = dict.fromkeys((*container.labels, BUILD_LABEL, OWNER_LABEL), "")
    repository, _, version = tag.partition(":")
    conf = {"Cmd": ["/bin/bash"], "Entrypoint": [], "Labels": inherited | labels}
    container.container.commit(repository=repository, tag=version, conf=conf)


def _image_labels(spec: ImageSpec, lock: Lock, wheel: Path, base: BaseImage, python: str) -> dict[str, str]:
    tag = image_tag(spec, lock, wheel, base)
    return {
        "org.opencontainers.image.title": spec.title,
        "org.opencontainers.image.description": spec.purpose,
        "org.opencontainers.image.revision": tag.partition(":")[2],
        "org.opencontainers.image.base.name": base.reference,
        "bancada.image": spec.key,
        "bancada.spec": spec.spec_hash,
        "bancada.lock": lock.sha256,
        "bancada.wheel": wheel_hash(wheel),
        "bancada.base.id": base.id,
        "bancada.python": python,
    }


def _existing(client: docker.DockerClient, tag: str, seconds: float = 0.0) -> BuiltImage | None:
    try:
        image = client.images.get(tag)
    except ImageNotFound:
        return None
    labels = image.labels
    if labels.get("org.opencontainers.image.revision") != tag.partition(":")[2]:
        return None  # somebody gave the name to another image: build it again
    return BuiltImage(
        id=str(image.id),
        tag=tag,
        size_bytes=int(image.attrs["Size"]),
        python=labels["bancada.python"],
        spec_hash=labels["bancada.spec"],
        lock_hash=labels["bancada.lock"],
        base_id=labels["bancada.base.id"],
        seconds=seconds,
    )


def _built(client: docker.DockerClient, tag: str, seconds: float) -> BuiltImage:
    built = _existing(client, tag, seconds)
    if built is None:
        raise BuildError(f"The engine lost {tag} while it was built.", fix="Run: ./bancada doctor")
    return built


def _require_engine_space(client: docker.DockerClient, needed_bytes: int, what: str) -> None:
    root = Path(str(client.info()["DockerRootDir"]))
    with suppress(PermissionError):  # an engine's folder that this user may not look at cannot be measured
        if os.access(root, os.F_OK):
            require_space(root, needed_bytes, what)
