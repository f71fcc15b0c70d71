"""A whole site whose servers are a tiny program: its programs under our own supervisor, on an engine of its own."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import docker
import requests
from docker.errors import APIError

from bancada_hub.cli.programs import programs
from bancada_hub.host.proxy import ensure_proxy
from bancada_hub.host.supervised import SupervisedServices
from bancada_hub.installation import Facts, Installation, keep_facts, new_site_id, read_installation
from bancada_hub.launch.network import ensure_network
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.places import Places
from bancada_hub.projects.labs import create_lab
from bancada_hub.projects.projects import NewProject, create_project
from bancada_hub.roles import Actor
from bancada_hub.site import load_site
from bancada_hub.store import catalog
from bancada_hub.store.database import Store, migrate, open_store
from tests.engine import TestEngine
from tests.hub.console.running import PASSWORD
from tests.hub.launch.conftest import TAG, make_image

PEOPLE, PROJECTS = ("ana", "bia", "rui"), ("wheat", "beans")
ADMIN = "zelda"
BASE = "a1a1a1a1a1a1"
PROGRAMS = ("hub", "console", "proxy")


@dataclass
class CrashSite:
    """The site."""

    engine: TestEngine
    client: docker.DockerClient
    installation: Installation
    store: Store
    services: SupervisedServices

    @property
    def url(self) -> str:
        return self.installation.site.url.rstrip("/")

    def start(self) -> None:
        """Start the programs, the hub with the faster clock."""
        command = ensure_proxy(dict(os.environ), lambda _text: None)
        made = programs(self.installation, command)
        config = str(Path(__file__).with_name("hub_config.py"))
        self.services.start(
            [replace(item, command=(*item.command[:-1], config)) if item.name == "hub" else item for item in made]
        )

    def last_words(self) -> str:
        """Return the ends of the programs' logs, less what was only looked at, and what runs."""
        ends = []
        for name in ("hub", "proxy", "console"):
            lines = (self.installation.places.logs / f"{name}.log").read_text(errors="replace").splitlines()
            ends += [f"== {name}", *[line for line in lines if " GET /" not in line][-150:]]
        return "\n".join([*ends, *map(self._last_word, self.containers(running=False).values())])

    def _last_word(self, container: str) -> str:
        try:
            found = self.client.api.inspect_container(container)
            (network,) = found["NetworkSettings"]["Networks"].values()
            answer = requests.get(f"http://{network['IPAddress']}:8888/", timeout=3).status_code
        except (APIError, requests.RequestException, ValueError) as error:
            return f"== {container[:12]}: {error}"
        return f"== {container[:12]}: {found['Name']} {found['State']} {network['IPAddress']} answers {answer}"

    def pid(self, name: str) -> int | None:
        """Return a program's process, while it runs."""
        return next(state.pid for state in self.services.status() if state.name == name)

    def containers(self, *, running: bool) -> dict[str, str]:
        """Return the servers' containers, by start; only those that run, or all."""
        wanted = {"label": [f"bancada.site={self.installation.facts.site_id}", "bancada.role=server"]}
        found = self.client.api.containers(all=not running, filters=wanted)
        return {item["Labels"]["bancada.start"]: item["Id"] for item in found}

    def volumes(self) -> set[str]:
        """Return the starts that volumes belong to."""
        wanted = {"label": [f"bancada.site={self.installation.facts.site_id}"]}
        found = self.client.api.volumes(filters=wanted)["Volumes"] or []
        return {item["Labels"]["bancada.start"] for item in found}


def make_crash_site(engine: TestEngine, data: Path, port: int, standin: Path) -> CrashSite:
    """Make the data directory, people, projects and image; nothing is started."""
    places, client = Places(data), engine.client()
    for folder in (places.site, places.logs, places.run, places.datasets, places.examples, places.identities):
        folder.mkdir(parents=True)
    server_tree, lower = places.lowers / "server-1", places.lowers / BASE
    for tree in (server_tree, lower):
        (tree / "bin").mkdir(parents=True)
        (tree / "bin" / "python").write_bytes(standin.read_bytes())
        (tree / "bin" / "python").chmod(0o755)
    places.settings_file.write_text(
        f'engine = "docker"\nport = {port}\n[server]\nmemory_gib = 0.25\ncpus = 0.25\nmemory_reserve_gib = 1\n'
    )
    migrate(load_site(places), places)
    site_id = new_site_id()
    network = ensure_network(client, site_id)
    keep_facts(places, Facts(site_id, engine.host, network.name, network.gateway, network.subnet, network.bridge))
    installation = read_installation(data)
    store = open_store(installation.site, places)
    _fill(store, installation, catalog.NewRevision(make_image(client), TAG, lower.name, server_tree.name, *_REST))
    return CrashSite(engine, client, installation, store, SupervisedServices(site_id, places.site))


_REST = ("s", "l", "3.11.2", 1)


def _fill(store: Store, installation: Installation, built: catalog.NewRevision) -> None:
    line, site = Actor.command_line(), installation.site
    create_lab(store, line, "plants", "Plants")
    for slug in PROJECTS:
        create_project(store, site, line, NewProject(slug, slug.title(), "plants"))
    for name in PEOPLE:
        add_account(store, site, line, NewAccount(name, False, PASSWORD, PROJECTS, must_change=False))
    add_account(store, site, line, NewAccount(ADMIN, True, PASSWORD, (), must_change=False))
    with store.write() as session:
        catalog.put_image(session, "minimal", "Minimal", "")
        catalog.publish_revision(session, "minimal", built)
