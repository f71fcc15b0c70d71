"""The engine hangs: pages say so and since when, starts are refused at once, and all is as before once it goes on."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from tests.crash.person import Person
from tests.crash.site import ADMIN, CrashSite
from tests.hub.console.documented import check_answer
from tests.hub.console.running import wait_until

SAYS = "The container engine has not answered since "


@contextmanager
def hanging(site: CrashSite) -> Iterator[None]:
    """Stop the engine where it stands."""
    daemon = site.engine._daemon
    assert daemon is not None
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(daemon.pid, signal.SIGCONT)


def work(person: Person) -> str:
    reply = person.browser.get("/services/bancada/")
    return reply.text if reply.status_code == 200 else ""


def state(person: Person, slug: str) -> str:
    reply = person.ask("GET", f"projects/{slug}/server")
    return str(reply.json()["state"]) if reply.status_code == 200 else ""


def since(person: Person) -> str:
    reply = person.ask("GET", "projects")
    check_answer("GET", "projects", reply)
    return str(reply.json()["engine_silent_since"] or "")


def memory(site: CrashSite) -> str:
    return str(requests.get(f"{site.url}/user/ana/wheat/api", timeout=5).json()["memory"])


def assert_hub_answers(site: CrashSite) -> None:
    """The hub's own API, past the proxy, within a second."""
    begun = time.monotonic()
    assert requests.get(f"{site.url}/hub/api", timeout=5).status_code == 200
    assert time.monotonic() - begun < 1


def test_an_engine_that_hangs_is_said_on_the_pages_and_nothing_is_lost(answering: CrashSite) -> None:
    site, ana, admin = answering, Person.at(answering, "ana"), Person.at(answering, ADMIN)
    assert ana.ask("POST", "projects/wheat/start").status_code == 202
    wait_until(lambda: state(ana, "wheat") == "running", "the server runs")
    before, held = memory(site), site.containers(running=True)
    told = ana.ask("GET", "notices").json()["notices"]
    assert SAYS not in work(ana) + admin.browser.get("/services/bancada/site").text
    with hanging(site):
        while SAYS not in work(ana):
            assert_hub_answers(site)
        assert SAYS in admin.browser.get("/services/bancada/site").text
        moment = since(ana)
        begun = time.monotonic()
        refused = ana.ask("POST", "projects/beans/start")
        assert time.monotonic() - begun < 1
        assert refused.status_code == 503
        assert refused.json()["message"].startswith(SAYS)
        assert refused.json()["message"].endswith(" UTC, so nothing starts. What is running goes on.")
        assert (state(ana, "wheat"), memory(site)) == ("running", before)
        hub = site.pid("hub")
        assert hub is not None
        os.kill(hub, signal.SIGKILL)
        wait_until(lambda: site.pid("hub") not in {None, hub}, "the hub is started again")
        wait_until(lambda: state(ana, "wheat") == "running", "the hub is back, with the server")
        assert_hub_answers(site)
        assert since(ana) == moment, "a hub that was started meanwhile tells the same moment"
        assert memory(site) == before
    wait_until(lambda: SAYS not in work(ana), "the pages say no more that it is silent")
    assert since(ana) == ""
    assert (memory(site), site.containers(running=True)) == (before, held)
    assert ana.ask("GET", "notices").json()["notices"] == told, "nobody lost anything"
    assert ana.ask("POST", "projects/beans/start").status_code == 202
    wait_until(lambda: state(ana, "beans") == "running", "starts go on")
    for slug in ("wheat", "beans"):
        ana.ask("POST", f"projects/{slug}/stop")
        wait_until(lambda slug=slug: state(ana, slug) == "stopped", "it is stopped")  # type: ignore[misc]
