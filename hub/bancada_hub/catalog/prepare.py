"""From a bare machine to a published `minimal`: a fixed sequence of steps that can be interrupted and run again.

Each step finds out by itself what is already there. While one runs, a row in the database says so, with a beat every
few seconds, so that pages can tell a step that works from one whose worker has died.
"""

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import docker

from bancada.errors import BancadaError
from bancada_hub.installation import Installation
from bancada_hub.store import catalog, servers, steps
from bancada_hub.store.database import Store
from bancada_images.base import ensure_base
from bancada_images.build import BuiltImage, build_image
from bancada_images.interpreter import host_interpreter
from bancada_images.labextension import ensure_labextension
from bancada_images.layout import Layout, lay_out, remove_layout, verify_layout
from bancada_images.lock import Lock, read_lock
from bancada_images.progress import Progress, never
from bancada_images.server_env import ensure_process_environment, ensure_server_environment
from bancada_images.sources import PackageSources
from bancada_images.spec import ImageSpec, catalog_folder, read_spec, server_folder
from bancada_images.wheel import build_server_wheel, build_wheel, checkout_folder, wheel_hash

BEAT_S = 5.0
QUICK_S = {"docker": 4.0, "process": 1.0}
"""Seconds; a step that took less found its work done: the shortest real one took 7 s in a container, 2 s without."""

MOST_NAMED = 5
FIRST_IMAGE = "minimal"
BASE, SERVER, IMAGE, TREE = "base", "server-environment", "image", "work-environment"
STEPS = {
    "docker": [
        steps.NewStep(BASE, "Base system", 45),
        steps.NewStep(SERVER, "JupyterLab and what it needs", 60),
        steps.NewStep(IMAGE, "Image Minimal", 40),
        steps.NewStep(TREE, "Work environment on disk", 10),
    ],
    "process": [
        steps.NewStep(SERVER, "JupyterLab and what it needs", 40),
        steps.NewStep(IMAGE, "Environment Minimal", 20),
    ],
}
"""The steps, with rough seconds from runs on 2 cores (docs/admin/install.md has the measurement)."""


class Line(Protocol):
    """Where the progress of one step is shown."""

    def say(self, text: str, done: float | None = None) -> None:
        """Show what the step is doing."""

    def unneeded(self, outcome: str) -> None:
        """Say that there was nothing to do."""


class Reporter(Protocol):
    """Shows steps one after the other, as a terminal does."""

    def step(self, title: str) -> AbstractContextManager[Line]:
        """Show one step while it runs."""


@dataclass(frozen=True)
class Workshop:
    """What a preparation works with.

    Args:
        installation: The site.
        store: Its database.
        reporter: Where progress is shown, beside the rows that pages read.
        uv: The uv program.
        client: The engine; None with the process engine.
    """

    installation: Installation
    store: Store
    reporter: Reporter
    uv: Path
    client: docker.DockerClient | None

    @property
    def sources(self) -> PackageSources:
        """Where packages come from."""
        return self.installation.site.packages.sources()

    @property
    def labels(self) -> dict[str, str]:
        """What marks this site's build containers."""
        return {"bancada.site": self.installation.facts.site_id}

    def wheel(self) -> Path:
        """Return the wheel of `bancada` that environments get."""
        return build_wheel(checkout_folder(), self.installation.places.cache / "wheels")

    def server_wheel(self, wheel: Path, say: Progress) -> Path:
        """Return the same with JupyterLab's part, building that where its sources have changed."""
        built = ensure_labextension(self.sources.host_environment(), say)
        return build_server_wheel(wheel, built, self.installation.places.cache / "wheels")


@dataclass(frozen=True)
class Recipe:
    """The image that a site starts with."""

    spec: ImageSpec
    lock: Lock


def prepare(workshop: Workshop) -> None:
    """Take all steps and publish the image.

    Raises:
        BancadaError: A step failed; its row says why, and nothing half-made stays.
    """
    folder = catalog_folder() / FIRST_IMAGE
    recipe = Recipe(read_spec(folder), read_lock(folder))
    with workshop.store.write() as session:
        steps.plan_steps(session, STEPS[workshop.installation.site.engine])
    client = workshop.client
    made = _in_containers(workshop, client, recipe) if client else _in_processes(workshop, recipe)
    with workshop.store.write() as session:
        catalog.put_image(session, recipe.spec.key, recipe.spec.title, recipe.spec.purpose)
        catalog.publish_revision(session, recipe.spec.key, made)


def _in_containers(workshop: Workshop, client: docker.DockerClient, recipe: Recipe) -> catalog.NewRevision:
    places, site = workshop.installation.places, workshop.installation.site
    with _recorded(workshop, BASE) as step:
        base = ensure_base(
            client,
            recipe.spec,
            workshop.sources,
            base_image=site.base_image,
            scratch=places.cache,
            say=step.say,
        )
    wheel = workshop.wheel()
    with _recorded(workshop, SERVER) as step:
        server = ensure_server_environment(
            client,
            base,
            server_folder(),
            workshop.server_wheel(wheel, step.say),
            workshop.sources,
            uv=workshop.uv,
            target_parent=places.lowers,
            labels=workshop.labels,
            say=step.say,
            cancelled=never,
        )
        _require_untouched(server)
    with _recorded(workshop, IMAGE) as step:
        image = build_image(
            client,
            recipe.spec,
            recipe.lock,
            base,
            wheel,
            workshop.sources,
            uv=workshop.uv,
            labels=workshop.labels,
            say=step.say,
            cancelled=never,
        )
    with _recorded(workshop, TREE) as step:
        tree = _lay_out(client, workshop.store, image, places.lowers / _short(image.id), step)
    return _revision(image, tree, server)


def _lay_out(client: docker.DockerClient, store: Store, image: BuiltImage, target: Path, step: "_Step") -> Layout:
    if target.exists() and verify_layout(target):
        require_nobody_runs(store, target)
        step.say("changed on disk: laid out again")
        remove_layout(target)
    return lay_out(client, image.id, "/opt/env", target, step.say)


def require_nobody_runs(store: Store, tree: Path) -> None:
    """Make sure that no server runs, or is about to: the kernel lets a tree be removed under those who use it.

    Raises:
        BancadaError: Servers run; the message says whose.
    """
    with store.read() as session:
        running = [f"{row.person_name} in {row.project_slug}" for row in servers.held(session)]
    if running:
        msg = f"{tree} has changed on disk and must be made again, and servers run that may use it: {_listed(running)}."
        raise BancadaError(msg, fix="Have them stopped, then run ./bancada up again.")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def _require_untouched(tree: Layout) -> None:
    wrong = verify_layout(tree.path)
    if wrong:
        msg = f"The server environment {tree.path} has changed on disk: {'; '.join(wrong[:3])}."
        raise BancadaError(
            msg,
            fix=f"Stop all servers, remove it and make it again: ./bancada down && rm -r {tree.path}* && ./bancada up",
        )


def _revision(image: BuiltImage, tree: Layout, server: Layout) -> catalog.NewRevision:
    return catalog.NewRevision(
        digest=image.id,
        tag=image.tag,
        lower=tree.path.name,
        server_environment=server.path.name,
        spec_hash=image.spec_hash,
        lock_hash=image.lock_hash,
        python=image.python,
        size_bytes=image.size_bytes,
    )


def _in_processes(workshop: Workshop, recipe: Recipe) -> catalog.NewRevision:
    lowers, wheel = workshop.installation.places.lowers, workshop.wheel()
    python, made = host_interpreter(), dict[str, Path]()
    for key, lock, prefix in ((SERVER, read_lock(server_folder()), "server-process"), (IMAGE, recipe.lock, "process")):
        with _recorded(workshop, key) as step:
            own = workshop.server_wheel(wheel, step.say) if key == SERVER else wheel
            inputs = f"{lock.sha256}\n{wheel_hash(own)}\n{python}"
            target = lowers / f"{prefix}-{hashlib.sha256(inputs.encode()).hexdigest()[:12]}"
            made[key] = ensure_process_environment(
                lock, own, workshop.sources, uv=workshop.uv, python=python, target=target, say=step.say
            )
    size = sum(path.stat().st_size for path in made[IMAGE].rglob("*") if path.is_file() and not path.is_symlink())
    return catalog.NewRevision(
        digest=made[IMAGE].name,
        tag="",
        lower=made[IMAGE].name,
        server_environment=made[SERVER].name,
        spec_hash=recipe.spec.spec_hash,
        lock_hash=recipe.lock.sha256,
        python=_version(made[IMAGE]),
        size_bytes=size,
    )


def _version(environment: Path) -> str:
    """Return the full version of an environment's Python, from what made it wrote (PEP 405)."""
    lines = (line.partition("=") for line in (environment / "pyvenv.cfg").read_text().splitlines())
    return next(value.strip() for key, _, value in lines if key.strip() in {"version", "version_info"})


def _short(image_id: str) -> str:
    return image_id.removeprefix("sha256:")[:12]


@dataclass
class _Step:
    """Passes progress on to the terminal and keeps its last words for the row."""

    line: Line
    detail: str = ""

    def say(self, text: str, done: float | None = None) -> None:
        self.detail = text
        self.line.say(text, done)


@contextmanager
def _recorded(workshop: Workshop, key: str) -> Iterator[_Step]:
    """Run one step: shown on the terminal, and kept as a row with a beat."""
    title = next(step.title for step in STEPS[workshop.installation.site.engine] if step.key == key)
    over = threading.Event()
    with workshop.reporter.step(title) as line:
        step, begun = _Step(line), time.monotonic()
        with workshop.store.write() as session:
            steps.begin_step(session, key)
        beat = threading.Thread(target=_beat, args=(workshop.store, key, step, over), daemon=True)
        beat.start()
        error = "Stopped before it was done. Run ./bancada up to go on."
        try:
            yield step
            error = ""
        except BancadaError as failure:
            error = str(failure)
            raise
        finally:
            over.set()
            beat.join()
            with workshop.store.write() as session:
                steps.end_step(session, key, error=error)
        if time.monotonic() - begun < QUICK_S[workshop.installation.site.engine]:
            line.unneeded("already there")


def _beat(store: Store, key: str, step: _Step, over: threading.Event) -> None:
    while not over.wait(BEAT_S):
        with store.write() as session:
            steps.beat_step(session, key, step.detail)
