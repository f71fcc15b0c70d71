"""Servers without a browser, and what is tried from the inside of one, as its person."""

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import requests
from docker.models.containers import Container

from bancada_hub.host.daemon import wait_until
from bancada_hub.installation import Installation, read_installation
from bancada_hub.store import people, projects
from bancada_hub.store.database import open_store
from tests.e2e.site import Site
from tests.hub.console.running import Browser

HERE = Path(__file__).parent
STARTED_S = 150.0
REACH = """
import json, socket, sys, time
begun, (address, port) = time.monotonic(), (sys.argv[1], int(sys.argv[2]))
try:
    socket.create_connection((address, port), timeout=6).close()
    said = "answers"
except ConnectionRefusedError:
    said = "refused"
except OSError as error:
    said = f"{type(error).__name__} {error.errno}"
print(json.dumps([said, time.monotonic() - begun]))
"""


class Person:
    """Somebody with an account, who starts and stops servers by the console's REST."""

    def __init__(self, site: Site, name: str, *arguments: str) -> None:
        if name not in site.passwords:
            site.add_person(name, *arguments)
        self.site, self.name = site, name
        with site.engine.enter():
            self.browser = Browser(SimpleNamespace(url=site.url.rstrip("/")))  # type: ignore[arg-type]
            self.browser.sign_in(name, site.passwords[name])

    def api(self, method: str, path: str, **more: Any) -> requests.Response:
        with self.site.engine.enter():
            return self.browser.api(method, path, **more)

    def start(self, project: str, **options: str) -> "Server":
        """Start a server, and return once JupyterLab answers."""
        asked = self.api("POST", f"projects/{project}/start", json=options)
        assert asked.ok, asked.text
        assert wait_until(lambda: self.state(project) != "starting", STARTED_S), self.site.logs()
        assert self.state(project) == "running", self.api("GET", f"projects/{project}/server").text + self.site.logs()
        return Server(self.site, self.name, project)

    def own_project(self) -> str:
        """Return the slug of the person's own project."""
        installation = read_installation(self.site.data)
        with open_store(installation.site, installation.places).read() as session:
            person = people.find_person(session, self.name)
            assert person
            return next(found.slug for found in projects.projects_of(session, person.id) if found.personal)

    @contextlib.contextmanager
    def working(self, project: str, **options: str) -> Iterator["Server"]:
        """Start a server, and stop it at the end."""
        try:
            yield self.start(project, **options)
        finally:
            self.stop(project)

    def state(self, project: str) -> str:
        return str(self.api("GET", f"projects/{project}/server").json()["state"])

    def stop(self, project: str) -> None:
        self.api("POST", f"projects/{project}/stop", json={})
        assert wait_until(lambda: self.state(project) == "stopped", STARTED_S), self.site.logs()


class Server:
    """The container of a running server, entered as its person."""

    def __init__(self, site: Site, name: str, project: str) -> None:
        self.installation: Installation = read_installation(site.data)
        with open_store(self.installation.site, self.installation.places).read() as session:
            person, found = people.find_person(session, name), projects.find_project(session, project)
        assert person
        assert found
        self.name, self.project, self.uid = name, project, person.uid
        labels = [f"bancada.site={self.installation.facts.site_id}", f"bancada.person={person.uid}"]
        filters = {"label": [*labels, f"bancada.project={found.id}"]}
        (container,) = site.engine.client().containers.list(filters=filters)
        self.container: Container = container

    @property
    def address(self) -> str:
        networks = self.container.attrs["NetworkSettings"]["Networks"]
        return str(networks[self.installation.facts.network]["IPAddress"])

    def run(self, *command: str, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
        user = self.container.attrs["Config"]["User"]
        status, output = self.container.exec_run(list(command), user=user, environment=dict(environment or {}))
        return status, output.decode()

    def python(self, code: str, *arguments: str) -> str:
        status, said = self.run("/opt/env/bin/python", "-c", code, *arguments)
        assert status == 0, said
        return said.strip()

    def reaches(self, address: str, port: int) -> tuple[str, float]:
        """Return how a connection went, and the seconds it took."""
        said, seconds = json.loads(self.python(REACH, address, str(port)))
        return said, seconds

    def attempt(self, name: str, facts: Mapping[str, str]) -> dict[str, str]:
        """Try one thing of attempts.py or attempts_network.py."""
        folder = self.installation.places.home(self.uid) / ".hostile" / "tests" / "e2e"
        folder.mkdir(parents=True, exist_ok=True)
        for script in ("attempts.py", "attempts_network.py"):
            shutil.copy(HERE / script, folder)
        path = {"PYTHONPATH": f"/home/{self.name}/.hostile"}
        command = ("/opt/env/bin/python", "-m", "tests.e2e.attempts_network", name, json.dumps(facts))
        status, said = self.run(*command, environment=path)
        assert status == 0, said
        answer: dict[str, str] = json.loads(said.splitlines()[-1])
        return answer
