"""A small site on the tests' engine, and a spawner of a real hub's user, database and settings."""

import io
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest
from jupyterhub import orm
from jupyterhub.objects import Hub, Server
from jupyterhub.user import User
from traitlets.config import Config

from bancada_hub.host.firewall import Firewall
from bancada_hub.host.firewall_rules import Wall
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.docker import DockerServer
from bancada_hub.launch.network import ensure_network
from bancada_hub.launch.planned import PlannedServer
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store import catalog, overlays, people, projects, servers
from bancada_hub.store.database import Store, migrate, open_store
from tests.engine import TestEngine

SITE_ID = "5e55104e"
TAG = "bancada-test/launch:1"
FOLDERS = (
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
)


@dataclass(frozen=True)
class Stage:
    """A site on which servers start."""

    client: docker.DockerClient
    context: LaunchContext
    server_tree: Path
    lower: Path

    @property
    def places(self) -> Places:
        return self.context.places

    @property
    def store(self) -> Store:
        return self.context.store

    def behave(self, how: str) -> None:
        (self.server_tree / "behaviour").write_text(how)

    def leftovers(self) -> list[str]:
        """Return every container and volume of this site, and every start that holds a lock or a share."""
        wanted = {"label": f"bancada.site={SITE_ID}"}
        # The plain list: the client's own looks at each container again, and one may have gone meanwhile.
        containers = [item["Names"][0].strip("/") for item in self.client.api.containers(all=True, filters=wanted)]
        volumes = [item.name for item in self.client.volumes.list(filters=wanted)]
        with self.store.read() as session:
            shares = {server.start_id for server in servers.held(session)}
            return containers + volumes + sorted(overlays.held(session).keys() | shares)


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("standin") / "python"
    source = Path(__file__).with_name("standin_server.c")
    subprocess.run(["gcc", "-static", "-O1", "-o", str(program), str(source)], check=True)
    return program


@pytest.fixture(scope="session")
def image(engine_client: docker.DockerClient) -> str:
    """The id of an image with nothing in it but folders."""
    return make_image(engine_client)


def make_image(client: docker.DockerClient) -> str:
    """Import the image into an engine; returns its id."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for folder in FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for name in ("passwd", "group", "gitconfig"):
            tar.addfile(tarfile.TarInfo(f"etc/{name}"))
    repository, tag = TAG.split(":")
    client.api.import_image_from_data(stream.getvalue(), repository=repository, tag=tag)
    return str(client.images.get(TAG).id)


@pytest.fixture
def stage(
    engine: TestEngine, engine_client: docker.DockerClient, inside: None, data: Path, standin: Path, image: str
) -> Iterator[Stage]:
    engine_client.images.get(image).tag(*TAG.split(":"))
    data.mkdir(parents=True)
    places, site = Places(data), Site()
    places.site.mkdir()
    server_tree, lower = places.lowers / "server-1", places.lowers / "a1a1a1a1a1a1"
    for tree in (server_tree, lower):
        (tree / "bin").mkdir(parents=True)
        (tree / "bin" / "python").write_bytes(standin.read_bytes())
        (tree / "bin" / "python").chmod(0o755)
    migrate(site, places)
    store = open_store(site, places)
    built = catalog.NewRevision(image, TAG, lower.name, server_tree.name, "s", "l", "3.11.2", 1)
    with store.write() as session:
        ana = people.add_person(session, "ana", None, admin=False, first=people.FirstNumbers(2_000_000, 2_000_000))
        main = projects.add_project(session, "main", "Main", first_gid=2_000_000)
        projects.add_member(session, main.id, ana.id)
        catalog.put_image(session, "minimal", "Minimal", "")
        catalog.publish_revision(session, "minimal", built)
    network = ensure_network(engine_client, SITE_ID)
    wall = Wall(SITE_ID, network.bridge, network.subnet, network.gateway, ports=(8003, 8004))
    firewall = Firewall(SITE_ID, places.run, lambda kept: (wall, kept))
    firewall.ensure()
    context = LaunchContext(SITE_ID, site, places, store, engine.host, network.name, firewall=firewall)
    yield Stage(engine_client, context, server_tree, lower)
    wanted = {"label": f"bancada.site={SITE_ID}"}
    for container in engine_client.containers.list(all=True, filters=wanted, ignore_removed=True):
        container.remove(force=True)
    for volume in engine_client.volumes.list(filters=wanted):
        volume.remove()
    engine_client.networks.get(network.name).remove()
    firewall.remove()


Spawn = Callable[..., DockerServer]


@pytest.fixture
def spawner(stage: Stage) -> Iterator[Spawn]:
    """Makes the spawner of ana's server: `spawner(name="main", config=…, options=…)`."""
    database = orm.new_session_factory("sqlite:///:memory:")()
    row = orm.User(name="ana")
    database.add(row)
    database.commit()
    DockerServer.context = stage.context
    for memory in (PlannedServer.live, PlannedServer.being_cleaned):
        memory.clear()  # as in a new hub

    def make(name: str = "main", config: Config | None = None, options: dict[str, Any] | None = None) -> DockerServer:
        settings = {
            "config": config or Config(),
            "hub": Hub(ip="127.0.0.1", port=8081, base_url="/hub/"),
            "spawner_class": DockerServer,
            "base_url": "/",
        }
        user = User(row, settings)
        made = user.get_or_create_spawner(name, "")
        address = orm.Server(base_url=f"/user/ana/{name}/")
        database.add(address)
        database.commit()
        made.server = Server(orm_server=address)
        made.user_options = options or {}
        made.api_token = "a-token-of-the-hub"
        made.oauth_client_id = f"jupyterhub-user-ana-{name}"
        assert isinstance(made, DockerServer)
        return made

    yield make
    database.close()
