"""A site of Bancada made for the bench alone: the product as `./bancada up` makes it, with people of the bench."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import ImageNotFound

from bancada_hub.cli.settings import new_settings
from bancada_hub.installation import Installation, read_installation
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.roles import Actor
from bancada_hub.store import catalog, projects
from bancada_hub.store.database import Store, open_store
from bancada_hub.store.people import find_person
from spawning.client import BenchError, Signed, sign_in

ROOT = Path(__file__).resolve().parents[2]
MARK = "made-by-bench-spawn"
IMAGE = "minimal"
TRIVIAL_SOURCE = ROOT / "tests" / "hub" / "launch" / "standin_server.c"
TRIVIAL_TAG = "bancada-bench/trivial:1"
TRIVIAL_FOLDERS = (
    "opt/env",
    "opt/bancada",
    "home",
    "project",
    "data",
    "examples",
    "places",
    "state",
    "etc",
    "run/bancada",
    "tmp",
    "etc/ssl/certs",
)
SETTINGS = """[server]
memory_gib = 0.5
cpus = 2
cpu_overcommit = 64  # the many small starts at once are not to be refused for want of cores
"""


@dataclass(frozen=True)
class BenchPerson:
    """A person and the project they work in."""

    signed: Signed
    project: str

    def start(self) -> float:
        """Start their server; returns seconds until it is ready."""
        return self.signed.start(self.project, {"size": "m"})

    def start_small(self) -> float:
        """Start a small one, of which many fit on the machine at once."""
        return self.signed.start(self.project, {"size": "s"})

    def stop(self) -> None:
        """Stop it."""
        self.signed.stop(self.project)


class OwnSite:
    """The bench's site.

    Args:
        data: Its data directory.
        port: The first of its ports.
    """

    def __init__(self, data: Path, port: int) -> None:
        self.data, self.port = data, port

    @property
    def installation(self) -> Installation:
        """What it is."""
        return read_installation(self.data)

    @property
    def url(self) -> str:
        """Where its proxy answers."""
        return f"http://127.0.0.1:{self.port}"

    def claim(self) -> None:
        """Make the data directory the bench's own.

        Raises:
            BenchError: It is somebody's.
        """
        if (self.data / MARK).exists():
            return
        if self.data.exists() and any(self.data.iterdir()):
            raise BenchError(f"{self.data} is not the bench's own; name another directory with --data.")
        self.data.mkdir(parents=True, exist_ok=True)
        (self.data / MARK).touch()
        (self.data / "bancada.toml").write_text(f"{new_settings('docker', self.port)}\n{SETTINGS}")

    def up(self) -> None:
        """Bring it up, the first time from nothing."""
        self._bancada("up", "--yes")

    def down(self, *, remove: bool) -> None:
        """Take it down, and with `remove` its data too."""
        self._bancada("down")
        if remove:
            shutil.rmtree(self.data)

    def people(self, count: int) -> list[BenchPerson]:
        """Return so many people, each signed in, each with their personal project."""
        site, store = self.installation.site, self.store
        found = []
        for number in range(1, count + 1):
            name, password = f"bench-{number}", "four words for a bench"
            with store.read() as session:
                person = find_person(session, name)
            if person is None:
                new = NewAccount(name, password=password, must_change=False)
                person, _ = add_account(store, site, Actor(None, "bench", True, "command line"), new)
            with store.read() as session:
                project = projects.projects_of(session, person.id)[-1].slug
            found.append(BenchPerson(sign_in(self.url, name, password), project))
        return found

    @contextmanager
    def trivial_image(self, client: docker.DockerClient) -> Iterator[None]:
        """Let servers be of an image whose server answers 200 at once, instead of JupyterLab, for a while."""
        places, store = self.installation.places, self.store
        program = places.cache / "trivial-server"
        places.cache.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-static", "-O1", "-o", str(program), str(TRIVIAL_SOURCE)], check=True)
        server, work = places.lowers / "server-bench", places.lowers / "bench-work"
        for tree in (server, work):
            (tree / "bin").mkdir(parents=True, exist_ok=True)
            shutil.copy2(program, tree / "bin" / "python")
        digest = import_trivial_image(client)
        trivial = catalog.NewRevision(digest, TRIVIAL_TAG, work.name, server.name, "bench", "bench", "3.11.2", 1)
        with store.read() as session:
            before = catalog.published_revision(session, IMAGE)
        if before is None:
            raise BenchError("The bench's site has no published image.")
        self._publish(trivial)
        try:
            yield
        finally:
            self._publish(before.built)

    @property
    def store(self) -> Store:
        """Its database."""
        return open_store(self.installation.site, self.installation.places)

    def _publish(self, revision: catalog.NewRevision) -> None:
        with self.store.write() as session:
            catalog.publish_revision(session, IMAGE, revision)

    def _bancada(self, *arguments: str) -> None:
        command = [str(ROOT / "bancada"), *arguments, "--data", str(self.data)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"./bancada {arguments[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")


def remove_trivial_image(client: docker.DockerClient) -> None:
    """Remove that image, if it is there."""
    with suppress(ImageNotFound):
        client.images.remove(TRIVIAL_TAG)


def import_trivial_image(client: docker.DockerClient) -> str:
    """Make an image with nothing in it but folders, and return its id."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for folder in TRIVIAL_FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for name in ("passwd", "group", "gitconfig"):
            tar.addfile(tarfile.TarInfo(f"etc/{name}"))
    repository, tag = TRIVIAL_TAG.split(":")
    client.api.import_image_from_data(stream.getvalue(), repository=repository, tag=tag)
    return str(client.images.get(TRIVIAL_TAG).id)
