"""A site of Bancada for the queue's bench: cards that compute nothing, many people, a long queue."""

import subprocess
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bancada_hub.gpus import broker
from bancada_hub.gpus.scheduling.rules import Purpose
from bancada_hub.gpus.scheduling.values import OnGrant, Shape
from bancada_hub.host.services import services_for
from bancada_hub.installation import Installation, read_installation
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.roles import Actor
from bancada_hub.store import people, projects
from bancada_hub.store.database import Store, open_store
from spawning.client import BenchError, sign_in

ROOT = Path(__file__).resolve().parents[2]
CARDS, WAITING, PROJECTS, ASKERS = 64, 10_000, 50, 60
PASSWORD = "four words for a bench"
BENCH = Actor(None, "bench", True, "command line")


@dataclass(frozen=True)
class QueueSite:
    """The bench's site.

    Args:
        data: Its data directory.
        port: The first of its ports.
    """

    data: Path
    port: int

    @property
    def url(self) -> str:
        """Where its proxy answers."""
        return f"http://127.0.0.1:{self.port}"

    @cached_property
    def installation(self) -> Installation:
        """What it is."""
        return read_installation(self.data)

    @cached_property
    def store(self) -> Store:
        """Its database."""
        return open_store(self.installation.site, self.installation.places)

    @cached_property
    def tokens(self) -> dict[str, str]:
        """A token of each who asks during the measurement, and of an administrator."""
        return {name: sign_in(self.url, name, PASSWORD).token for name in (*self.askers, "boss")}

    @property
    def askers(self) -> list[str]:
        """Those who ask during the measurement."""
        return [f"asker-{number}" for number in range(ASKERS)]

    def console_pid(self) -> int:
        """Return the console's process; waits until it has one."""
        services = services_for(self.installation.facts.site_id, self.installation.places.site)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            found = next((state.pid for state in services.status() if state.name == "console"), None)
            if found:
                return int(found)
            time.sleep(0.01)
        raise BenchError("The console has no process for a minute.")

    def up(self) -> None:
        """Bring it up, from nothing."""
        self._bancada("up", "--yes", "--engine", "process", "--port", str(self.port), "--simulate-gpus", str(CARDS))

    def down(self) -> None:
        """Take it down."""
        self._bancada("down")

    def fill(self) -> None:
        """Add people and projects, and the requests that wait."""
        for name in (*self.askers, "boss"):
            account = NewAccount(name, admin=name == "boss", password=PASSWORD, must_change=False)
            add_account(self.store, self.installation.site, BENCH, account)
        with self.store.write() as session:
            labs = [projects.add_project(session, f"g{n}", f"G{n}", first_gid=3_000_000) for n in range(PROJECTS)]
            asking = [people.find_person(session, name) for name in self.askers]
            first = people.FirstNumbers(2_500_000, 3_500_000)
            waiting = [
                people.add_person(session, f"w{number}", None, admin=False, first=first)
                for number in range(WAITING // PROJECTS)
            ]
            for project in labs:
                for person in (*asking, *waiting):
                    assert person
                    projects.add_member(session, project.id, person.id)
            shape, now_s = Shape(cards=1, purpose=Purpose.TRAINING), time.time()
            for number in range(WAITING):
                pair = (labs[number % PROJECTS].id, waiting[number // PROJECTS].id)
                broker.ask(session, pair, shape, OnGrant.HOLD, now_s - WAITING + number)

    def _bancada(self, *arguments: str) -> None:
        command = [str(ROOT / "bancada"), *arguments, "--data", str(self.data)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"./bancada {arguments[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")
