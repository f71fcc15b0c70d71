"""What is measured of the queue over HTTP."""

import http.client
import itertools
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from bancada_hub.store import leases, requests, trace
from queueing.own_site import PROJECTS, QueueSite
from spawning.client import BenchError

CONNECTIONS = 32
ASK = {"cards": 1, "purpose": "training", "on_grant": "hold"}
GRANTED_WITHIN_S = 30.0
ANSWERED = {200, 409}
"""Let in, or let in before by a request whose answer was lost with the console."""
SEED = 11


@dataclass
class Client:
    """One connection to the site's proxy, kept alive.

    Args:
        site: The site.
    """

    site: QueueSite
    line: http.client.HTTPConnection | None = None

    def post(self, person: str, path: str, body: dict[str, object]) -> tuple[int, dict[str, object]]:
        """Send a request as a person, and return the answer's status and body; OSError where none came."""
        if self.line is None:
            self.line = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=60)
        headers = {
            "Authorization": f"token {self.site.tokens[person]}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        try:
            self.line.request("POST", f"/services/bancada/api/{path}", json.dumps(body), headers)
            answer = self.line.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.line.close()
            self.line = None
            raise OSError(str(error)) from error
        return answer.status, json.loads(text) if answer.status < 500 else {}


@dataclass
class Pairs:
    """Persons and projects that have not asked yet, each once, for all threads."""

    site: QueueSite
    left: Iterator[tuple[str, str]] = field(init=False)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.left = itertools.product((f"g{number}" for number in range(PROJECTS)), self.site.askers)

    def next(self) -> tuple[str, str]:
        """Return a person and a project."""
        with self.lock:
            project, person = next(self.left)
        return person, project


_PAIRS: dict[int, Pairs] = {}


def pairs_of(site: QueueSite) -> Pairs:
    """Return the pairs of a site that are left."""
    return _PAIRS.setdefault(site.port, Pairs(site))


def warm_up(site: QueueSite) -> None:
    """Let the console know everybody's token, and decide once: neither is what is measured."""
    client, pairs = Client(site), pairs_of(site)
    for _ in site.askers:
        person, project = pairs.next()
        status, body = client.post(person, f"projects/{project}/gpu", ASK)
        if status != 200:
            raise BenchError(f"A request was answered with {status}: {body}")


def asks(site: QueueSite, count: int) -> tuple[float, list[float]]:
    """Return requests a second, and the milliseconds that each took."""
    pairs, taken, counted = pairs_of(site), [], itertools.count()

    def work() -> None:
        client = Client(site)
        while next(counted) < count:
            person, project = pairs.next()
            begun = time.perf_counter()
            status, body = client.post(person, f"projects/{project}/gpu", ASK)
            if status != 200:
                raise BenchError(f"A request was answered with {status}: {body}")
            taken.append((time.perf_counter() - begun) * 1000)

    begun = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for done in [pool.submit(work) for _ in range(CONNECTIONS)]:
            done.result()
    return len(taken) / (time.perf_counter() - begun), taken


def releases(site: QueueSite, count: int) -> list[float]:
    """Return the milliseconds from giving a grant back until the next was granted."""
    client, taken = Client(site), []
    for _ in range(count):
        before = _held(site)
        given_back = min(before)
        sent_s = time.time()
        status, body = client.post("boss", f"queue/{given_back}/cancel", {})
        if status != 200:
            raise BenchError(f"A cancel was answered with {status}: {body}")
        until = time.monotonic() + GRANTED_WITHIN_S
        while not (new := {number: at for number, at in _held(site).items() if number not in before}):
            if time.monotonic() > until:
                raise BenchError("Nobody was granted what came free.")
            time.sleep(0.005)
        taken.append((min(new.values()) - sent_s) * 1000)
    return taken


def kills(site: QueueSite, count: int) -> tuple[list[float], list[float], list[str]]:
    """Kill the console again and again under load.

    Returns:
        Seconds from each kill until a request was answered; seconds that this first request took; what is wrong in the
        database afterwards.
    """
    rng, pairs = random.Random(SEED), pairs_of(site)
    answered: dict[int, str] = {}
    stop = threading.Event()

    def crowd() -> None:
        client = Client(site)
        while not stop.is_set():
            person, project = pairs.next()
            try:
                status, body = client.post(person, f"projects/{project}/gpu", ASK)
            except OSError:
                status, body = 0, {}
            if status == 200:
                answered[int(str(body["request"]))] = person
            stop.wait(0.5)

    back_s, first_s = [], []
    with ThreadPoolExecutor(4) as pool:
        work = [pool.submit(crowd) for _ in range(4)]
        for _ in range(count):
            time.sleep(rng.uniform(0.2, 1.0))
            os.kill(site.console_pid(), signal.SIGKILL)
            killed = time.monotonic()
            client, status, sent = Client(site), 0, killed
            person, project = pairs.next()
            while status not in ANSWERED:
                sent = time.monotonic()
                try:
                    status, _ = client.post(person, f"projects/{project}/gpu", ASK)
                except OSError:
                    time.sleep(0.01)
                if sent - killed > 60:
                    raise BenchError("The console did not come back within a minute.")
            back_s.append(time.monotonic() - killed)
            first_s.append(time.monotonic() - sent)
        stop.set()
        for each in work:
            each.result()
    return back_s, first_s, _wrong(site, answered)


def _held(site: QueueSite) -> dict[int, float]:
    with site.store.read() as session:
        return {lease.request_id: lease.granted_s for lease, _ in leases.live_leases(session)}


def _wrong(site: QueueSite, answered: dict[int, str]) -> list[str]:
    with site.store.read() as session:
        lost = [number for number in answered if requests.find_request(session, number) is None]
        held = Counter(card for lease, _ in leases.live_leases(session) for card in lease.cards)
        twice = [card for card, times in held.items() if times > 1]
        broken = trace.verify(session)
        recorded = {
            entry.detail.get("request")
            for entry in trace.audit_entries(session, trace.Filter(action="gpu.ask", limit=1_000_000))
        }
    unrecorded = [number for number in answered if number not in recorded]
    found = [f"{len(lost)} lost requests"] if lost else []
    found += [f"{len(twice)} cards held twice"] if twice else []
    found += [f"{len(unrecorded)} requests without a row in the audit"] if unrecorded else []
    return found + [str(each) for each in broken]
