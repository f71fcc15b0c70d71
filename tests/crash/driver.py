"""Random crashes in a row: what was running goes on if it can, nothing is lost or left over, and no page is wrong."""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import requests
from docker.errors import APIError

from bancada_hub.launch.ending import Cause
from bancada_hub.store import people, projects
from bancada_hub.store.trace import verify
from tests.crash.kept import Kept, Server
from tests.crash.left import trouble
from tests.crash.person import Person
from tests.crash.site import PEOPLE, PROGRAMS, PROJECTS, CrashSite

QUIET_WITHIN_S = 90.0
ROUTES_WITHIN_S = 10.0
PROGRAMS_WITHIN_S = 2.0

EVENTS = (
    ("hub",),
    ("console",),
    ("proxy",),
    ("engine",),
    ("hub", "console", "proxy"),
    ("hub", "engine"),
    ("hub", "console", "proxy", "engine"),
    ("container",),
    ("memory",),
    ("hang",),
)


@dataclass
class Crashes:
    """A run: `run(count)` fails with the seed and what came before."""

    site: CrashSite
    seed: int
    people: dict[str, Person] = field(default_factory=dict)
    memory: dict[Server, str] = field(default_factory=dict)
    asked: set[Server] = field(default_factory=set)
    told: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    fell: dict[Server, Cause] = field(default_factory=dict)
    ends: dict[Server, str] = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)
    longest: dict[str, float] = field(default_factory=dict)

    asking: list[Future[requests.Response]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.threads = ThreadPoolExecutor(8)
        self.random = random.Random(self.seed)
        self.people = {name: Person.at(self.site, name) for name in PEOPLE}
        self.rows = self.count_rows()
        self.kept = Kept(self.site)

    def run(self, count: int) -> None:
        """Crash so many times."""
        for number in range(1, count + 1):
            self.asked.clear()
            for _ in range(self.random.randint(1, 3)):
                self.act()
            until = time.monotonic() + self.random.random()
            self.poll(lambda until=until: self.write_until(until), "the instant has come")  # type: ignore[misc]
            event = self.random.choice(EVENTS)
            self.told.append(f"{number}: {'+'.join(event)}")
            self.counts["+".join(event)] += 1
            begun = time.monotonic()
            try:
                self.crash(event)
                self.answered()
                self.settle()
                self.check(event)
                self.seconds["+".join(event)] += time.monotonic() - begun
            except (AssertionError, requests.RequestException, APIError) as error:
                print(self.site.last_words())
                raise AssertionError(f"seed {self.seed}, after {self.told[-4:]}: {error}") from error

    def stop_all(self) -> None:
        """Stop every server, for the tests that follow."""
        for name, slug in self.memory:
            assert self.people[name].ask("POST", f"projects/{slug}/stop").status_code == 202
        self.poll(lambda: self.quiet() and not self.site.containers(running=False), "every server is stopped")

    def act(self) -> None:
        """Start or stop something, without waiting for it."""
        server = (self.random.choice(PEOPLE), self.random.choice(PROJECTS))
        self.asked.add(server)
        name, slug = server
        start = self.random.random() < (0.35 if server in self.memory else 0.9)
        path = f"projects/{slug}/start" if start else f"projects/{slug}/stop"
        self.told.append(f"{'start' if start else 'stop'} {name}/{slug}")
        self.asking.append(self.threads.submit(self.people[name].ask, "POST", path))

    def answered(self) -> None:
        """Take the answers of what was asked; whoever died meanwhile gave none."""
        for each in self.asking:
            with contextlib.suppress(requests.RequestException):
                reply = each.result()
                self.counts[f"{reply.request.path_url.rpartition('/')[2]} {reply.status_code}"] += 1
                died = {502, 503, 404}
                assert reply.status_code in {202, 200, 400, 409} | died, f"{reply.status_code} {reply.text[:300]}"
        self.asking.clear()

    def write_until(self, moment: float) -> bool:
        """Have everything that runs put words down; returns whether the moment has come."""
        for server in self.memory:
            if time.monotonic() < moment:
                self.kept.put(server)
        return time.monotonic() >= moment

    def crash(self, event: tuple[str, ...]) -> None:
        """Let things die, all at one instant."""
        self.fell = {}
        pids = {name: self.site.pid(name) for name in event if name in PROGRAMS}
        alone = sorted(self.memory.keys() - self.asked)
        if event == ("container",):
            running = self.site.containers(running=True)
            for start in self.random.sample(sorted(running), min(1, len(running))):
                with contextlib.suppress(APIError):  # it is being removed already
                    self.site.client.api.remove_container(running[start], force=True)
        if event == ("memory",) and alone:
            server = self.random.choice(alone)
            self.fell = {server: Cause.MEMORY}
            with contextlib.suppress(requests.RequestException):
                requests.get(f"{self.site.url}/user/{server[0]}/{server[1]}/fill", timeout=20)
        if "hang" in event:
            self.hang()
        for pid in filter(None, pids.values()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if "engine" in event:
            self.fell = dict.fromkeys(alone, Cause.ENGINE)
            self.site.engine.kill()
            self.site.engine.start()
        else:
            self.back(pids)
        if event == ("proxy",):
            self.routes_back(alone)

    def back(self, pids: dict[str, int | None]) -> None:
        """Wait until the supervisor has started again what was killed."""
        begun = time.monotonic()
        for name, before in pids.items():
            self.poll(lambda name=name, before=before: self.site.pid(name) not in {None, before}, f"{name} is back")  # type: ignore[misc]
            took = time.monotonic() - begun
            self.longest[name] = max(self.longest.get(name, 0.0), took)
            assert took < PROGRAMS_WITHIN_S, f"{name} was started again after {took:.1f} s"

    def routes_back(self, alone: list[Server]) -> None:
        """Wait until each server that ran is reached through the proxy as before."""
        begun = time.monotonic()
        for server in alone:
            assert self.memory_of(server) == self.memory[server]
            took = time.monotonic() - begun
            self.longest["route"] = max(self.longest.get("route", 0.0), took)
            assert took < ROUTES_WITHIN_S, f"{server} was reached again after {took:.1f} s"

    def hang(self) -> None:
        """Stop the engine where it stands; pages must answer meanwhile."""
        daemon = self.site.engine._daemon
        assert daemon is not None
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            for person in self.people.values():
                begun = time.monotonic()
                assert person.ask("GET", "projects").status_code == 200, "pages answer while the engine hangs"
                assert time.monotonic() - begun < 5
        finally:
            os.kill(daemon.pid, signal.SIGCONT)

    def settle(self) -> None:
        """Wait until everything answers and nothing moves."""
        self.why = ""
        self.poll(self.quiet, "everything is quiet")

    def quiet(self) -> bool:
        """Say whether pages, engine and database agree and nothing moves; keeps why not."""
        try:
            shown = self.states()
            up = {server for server, state in shown.items() if state == "running"}
            wrong = trouble(self.site, up)
        except (requests.RequestException, APIError) as error:
            self.why = str(error)[:300]
            return False
        moving = [f"{server}: {state}" for server, state in shown.items() if state not in {"running", "stopped"}]
        self.why = f"moving {moving}; {wrong}"
        return not moving and not wrong

    def states(self) -> dict[Server, str]:
        """Return what everybody's pages say of their servers."""
        found = {}
        for name, person in self.people.items():
            reply = person.ask("GET", "projects")
            if reply.status_code != 200:
                assert reply.status_code in {302, 401, 403, 404, 502, 503}, f"{reply.status_code}: {reply.text[:300]}"
                raise requests.ConnectionError(f"{reply.status_code}")
            listed = {item["slug"]: item["server"] for item in reply.json()["projects"]}
            found |= {(name, slug): listed[slug]["state"] for slug in PROJECTS}
            self.ends |= {(name, slug): (listed[slug]["ended"] or {}).get("cause", "") for slug in PROJECTS}
        return found

    def check(self, event: tuple[str, ...]) -> None:
        """Look at everything once it is quiet."""
        before, self.memory = self.memory, {}
        for server, state in self.states().items():
            if state == "running":
                self.memory[server] = self.memory_of(server)
        self.counts["running after it"] += len(self.memory)
        assert len(set(self.memory.values())) == len(self.memory), "each route leads to a server of its own"
        if not {"engine", "container"} & set(event):
            for server in before.keys() - self.asked - self.fell.keys():
                self.counts["lived through it"] += 1
                assert self.memory.get(server) == before[server], f"{server} did not live through it"
        if "engine" in event:
            assert not set(before.values()) & set(self.memory.values()), "nothing outlives the engine unseen"
        for server, cause in self.fell.items():
            self.counts[f"told: {cause}"] += 1
            assert self.ends[server] == cause, f"the card of {server} says {self.ends[server] or 'nothing'}"
        for server in self.memory:
            self.kept.put(server)
        self.kept.check()
        assert self.count_rows() == self.rows
        with self.site.store.read() as session:
            assert verify(session) == []

    def memory_of(self, server: Server) -> str:
        """Return what a server keeps in its memory, asked through the proxy."""
        name, slug = server
        found = ""

        def answers() -> bool:
            nonlocal found
            with contextlib.suppress(requests.RequestException, ValueError, KeyError):
                address = f"{self.site.url}/user/{name}/{slug}/api"
                found = requests.get(address, timeout=5, allow_redirects=False).json()["memory"]
            return bool(found)

        self.poll(answers, f"the route of {server} is there")
        return found

    def count_rows(self) -> tuple[int, ...]:
        """Return how many people, projects and memberships there are."""
        with self.site.store.read() as session:
            everything = projects.all_projects(session)
            counts = [projects.count_members(session, project.id) for project in everything]
            return (len(people.people(session)), len(everything), *counts)

    def poll(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + QUIET_WITHIN_S
        while not done():
            assert time.monotonic() < deadline, f"not within {QUIET_WITHIN_S:.0f} s: {what}; {getattr(self, 'why', '')}"
            time.sleep(0.1)
