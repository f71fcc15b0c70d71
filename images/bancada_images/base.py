"""The base of images: an image of a registry by digest, or one made here from Debian's packages."""

import hashlib
import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import docker
from docker.errors import APIError, DockerException, ImageNotFound

from bancada_images.debian import RECIPE, Bootstrap, bootstrap
from bancada_images.errors import BuildCancelled, BuildError
from bancada_images.progress import Cancelled, Progress, never
from bancada_images.sources import PackageSources, mask_credentials
from bancada_images.spec import ImageSpec

REPOSITORY = "bancada-base"
LABEL = "bancada.base"
_BY_DIGEST = re.compile(r"(?P<name>[^\s@]+)@(?P<digest>sha256:[0-9a-f]{64})")
_NEEDED_BYTES = 2 << 30


@dataclass(frozen=True)
class BaseImage:
    """A base that is in the engine.

    Attributes:
        id: Its config digest: what it is.
        tag: An immutable local name.
        origin: Where it came from.
        reference: `name@sha256:digest` of a registry, or what it was made from.
    """

    id: str
    tag: str
    origin: Literal["registry", "debian"]
    reference: str


def ensure_base(  # noqa: PLR0913 - the last has a default; the others are what a base is made of
    client: docker.DockerClient,
    spec: ImageSpec,
    sources: PackageSources,
    *,
    base_image: str | None,
    scratch: Path,
    say: Progress,
    cancelled: Cancelled = never,
) -> BaseImage:
    """Return the base of an image, making or pulling it where it is not in the engine yet.

    Args:
        client: The engine.
        spec: The image.
        sources: The site's package sources.
        base_image: `name@sha256:digest` to pull; None makes the base from Debian's packages.
        scratch: Folder for the work, made if missing; nothing is left in it.
        say: Told each step.
        cancelled: Asked several times a second.

    Raises:
        BuildError: The base cannot be had; says why.
        BuildCancelled: Somebody asked to stop; the engine and the scratch folder are as before.
    """
    try:
        if base_image is not None:
            return _from_registry(client, base_image, say, cancelled)
        return _from_debian(client, Bootstrap(spec, sources, scratch), say, cancelled)
    except DockerException as problem:
        text = mask_credentials(str(getattr(problem, "explanation", None) or problem))
        raise BuildError(f"The engine refused the base: {text}.", fix="Run: ./bancada doctor") from problem


def _from_registry(client: docker.DockerClient, reference: str, say: Progress, cancelled: Cancelled) -> BaseImage:
    match = _BY_DIGEST.fullmatch(reference)
    if match is None:
        raise BuildError(
            f'base_image "{mask_credentials(reference)}" has no digest: a tag may mean another image tomorrow.',
            fix="Write it as name@sha256:<64 hex digits>, with the digest that your registry shows.",
        )
    name, digest = match["name"], match["digest"]
    try:
        image = client.images.get(reference)
        say("Base: already in the engine", 1.0)
    except ImageNotFound:
        say(f"Base: pulling {name}", 0.0)
        for text, done in _pulled(client, name, digest):
            say(text, done)
            if cancelled():
                raise BuildCancelled from None
        image = client.images.get(reference)
    tag = f"registry-{digest.removeprefix('sha256:')[:12]}"
    image.tag(REPOSITORY, tag)
    return BaseImage(id=str(image.id), tag=f"{REPOSITORY}:{tag}", origin="registry", reference=reference)


def _pulled(client: docker.DockerClient, name: str, digest: str) -> Iterator[tuple[str, float | None]]:
    """Pull by digest, yielding what has arrived after each message of the engine."""
    sizes: dict[str, tuple[int, int]] = {}
    for message in client.api.pull(name, tag=digest, stream=True, decode=True):
        if "error" in message:
            raise BuildError(
                f"{name} cannot be pulled: {mask_credentials(message['error'])}.",
                fix="Check the site key base_image and that the engine reaches the registry and may read it.",
            )
        detail = message.get("progressDetail") or {}
        if message.get("status") == "Downloading" and detail.get("total"):
            sizes[message["id"]] = (detail["current"], detail["total"])
        arrived, total = (sum(column) for column in zip(*sizes.values(), strict=True)) if sizes else (0, 0)
        text = f"Base: pulling {name}, {arrived / 2**30:.1f} of {total / 2**30:.1f} GiB"
        yield text, arrived / total if total else None


def _from_debian(client: docker.DockerClient, what: Bootstrap, say: Progress, cancelled: Cancelled) -> BaseImage:
    made_of = "\n".join((what.spec.suite, platform.machine(), RECIPE, *what.packages))
    key = hashlib.sha256(made_of.encode()).hexdigest()
    tag, reference = f"{what.spec.suite}-{key[:12]}", f"debian:{what.spec.suite}"
    name = f"{REPOSITORY}:{tag}"
    try:
        image = client.images.get(name)
        if image.labels.get(LABEL) == key:
            say("Base: already in the engine", 1.0)
            return BaseImage(id=str(image.id), tag=name, origin="debian", reference=reference)
    except ImageNotFound:
        pass
    what.scratch.mkdir(parents=True, exist_ok=True)
    require_space(what.scratch, _NEEDED_BYTES, "the base")
    say(f"Base: making it from Debian {what.spec.suite}", 0.0)
    changes = [f"LABEL {LABEL}={key}", "ENV LANG=C.UTF-8", 'CMD ["/bin/bash"]']
    with bootstrap(what, say, cancelled) as stream:
        # The request begins with the first data: an engine would not wait minutes for a body.
        first = next(stream)
        _import(client, _chained(first, stream), tag, changes)
    image = client.images.get(name)
    say("Base: ready", 1.0)
    return BaseImage(id=str(image.id), tag=name, origin="debian", reference=reference)


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _import(client: docker.DockerClient, stream: Iterator[bytes], tag: str, changes: list[str]) -> None:
    """Import a tar stream as an image; an exception in the stream ends the request, and the engine keeps nothing."""
    try:
        answer = client.api.import_image_from_stream(stream, repository=REPOSITORY, tag=tag, changes=changes)
    except APIError as problem:
        raise BuildError(
            f"The engine refused the base: {problem.explanation}.", fix="Run: ./bancada doctor"
        ) from problem
    if '"error"' in str(answer):
        raise BuildError(f"The engine could not import the base: {answer}.", fix="Run: ./bancada doctor")


def require_space(folder: Path, needed_bytes: int, what: str) -> None:
    """Refuse to begin where the disk would run full.

    Raises:
        BuildError: Less than `needed_bytes` is free where `folder` lies.
    """
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise BuildError(
            f"Not enough disk space for {what}: it needs about {needed_bytes / 2**30:.1f} GiB at {folder}, "
            f"{free_bytes / 2**30:.1f} GiB are free.",
            fix=f"Free some space on the file system of {folder}, then run the same command again.",
        )
