"""The server API on a real site: whose token it takes, what it answers, and how a notice comes through."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import psutil
import pytest
import requests

from bancada.contract import CONTRACT, CONTRACT_HEADER
from bancada_hub.gpus.scheduling.values import Shape
from bancada_hub.secrets import secret
from bancada_hub.store import leases, notices, people, projects, servers, trace
from bancada_hub.store import requests as requests_store
from tests.hub.console.running import Browser, RunningSite, wait_until

SHAPE = asdict(Shape())
NOTHING_RUNS = {"kernels": [], "terminals": []}


class Server:
    """Speaks as a person's server does."""

    def __init__(self, site: RunningSite, token: str) -> None:
        self.url = f"http://127.0.0.1:{site.installation.site.port + 4}/api/v1"
        self.headers = {"Authorization": f"token {token}", CONTRACT_HEADER: str(CONTRACT)}

    def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any) -> requests.Response:
        return requests.request(
            method, self.url + path, headers={**self.headers, **(headers or {})}, timeout=40, **more
        )


def token_of(site: RunningSite, person: str, slug: str) -> str:
    """Return a running server's token: from its process, which the tests may look into."""
    mine = {
        "JUPYTERHUB_SERVICE_PREFIX": f"/user/{person}/{slug}/",
        "JUPYTERHUB_API_URL": f"http://127.0.0.1:{site.installation.site.port + 3}/hub/api",
    }
    for process in psutil.process_iter():
        try:
            variables = process.environ()
        except psutil.Error:
            continue
        if mine.items() <= variables.items() and "hello_server.py" in " ".join(process.cmdline()):
            return variables["JUPYTERHUB_API_TOKEN"]
    raise AssertionError(f"no server with {mine}")


def test_a_servers_token_is_nobody_on_the_consoles_pages(server: Server, running: RunningSite) -> None:
    """Code in a notebook is not the person: were a lead's, it could read all that the lead may."""
    for path in ("api/projects", "api/projects/optics/server", "api/labs", "api/audit"):
        reply = requests.get(f"{running.url}/services/bancada/{path}", headers=server.headers, timeout=30)
        assert reply.status_code == 401
    page = requests.get(
        f"{running.url}/services/bancada/",
        headers={**server.headers, "Accept": "text/html"},
        allow_redirects=False,
        timeout=30,
    )
    assert page.status_code == 302
    assert page.headers["Location"].startswith("/hub/api/oauth2/authorize?client_id=service-bancada")


def add_notice(site: RunningSite, name: str, text: str) -> int:
    with site.store.write() as session:
        person = people.find_person(session, name)
        assert person
        return notices.add_notice(session, person.id, notices.NewNotice(text)).id


@pytest.fixture
def server(running: RunningSite, ana: Browser) -> Iterator[Server]:
    ana.api("POST", "projects/optics/start", json={})
    wait_until(lambda: ana.api("GET", "projects/optics/server").json()["state"] == "running", "optics runs")
    yield Server(running, token_of(running, "ana", "optics"))
    ana.api("DELETE", "projects/optics/server")
    wait_until(lambda: ana.api("GET", "projects/optics/server").json()["state"] == "stopped", "optics is stopped")


def test_a_server_learns_where_it_works(server: Server) -> None:
    expected = {
        "project": "optics",
        "title": "Optics",
        "image": "Minimal",
        "revision": "0123456789ab",
        "gpus": [],
        "signed_out_at": "",
    }
    assert server.ask("GET", "/project").json() == expected
    reply = server.ask("POST", "/report", json=NOTHING_RUNS)
    assert (reply.status_code, reply.json()) == (200, expected)
    assert reply.headers[CONTRACT_HEADER] == str(CONTRACT)


def test_a_report_of_another_shape_is_refused_in_words(server: Server) -> None:
    for body in ("[]", "{", '{"kernels": 3, "terminals": []}'):
        reply = server.ask("POST", "/report", data=body)
        assert reply.status_code == 400
        assert reply.json()["message"].startswith("The body is not ")


@pytest.mark.parametrize(("header", "status"), [("0", 426), ("999", 426), ("x", 400), ("", 400)])
def test_another_contract_is_refused_with_what_to_do(server: Server, header: str, status: int) -> None:
    reply = server.ask("GET", "/project", headers={CONTRACT_HEADER: header})
    assert reply.status_code == status
    assert reply.json()["fix"] == "Stop the project and start it again."


def test_no_other_token_is_taken(running: RunningSite, server: Server, ana: Browser) -> None:
    console = secret(running.installation.places.secrets, "console-token")
    for header in ("", "token ", "token x", f"token {console}", "Basic YW5hOmFuYQ==", "token " + "x" * 4000):
        reply = server.ask("GET", "/project", headers={"Authorization": header})
        assert reply.status_code == 401, header[:20]
    # Nor a cookie: a browser asks nothing here.
    del server.headers["Authorization"]
    assert server.ask("GET", "/project", cookies=ana.cookies).status_code == 401


def test_a_person_who_left_the_project_is_refused(running: RunningSite, server: Server) -> None:
    with running.store.write() as session:
        ana, optics = people.find_person(session, "ana"), projects.find_project(session, "optics")
        assert ana
        assert optics
        projects.drop_member(session, optics.id, ana.id)
    try:
        reply = server.ask("GET", "/project")
    finally:
        with running.store.write() as session:
            projects.add_member(session, optics.id, ana.id)
    assert reply.status_code == 403
    assert reply.json()["message"].startswith("You are not in this project any more")


def test_it_serves_no_page(server: Server) -> None:
    for path in ("/", "/nothing", "/../../services/bancada/"):
        reply = server.ask("GET", path)
        assert reply.status_code == 404
        assert reply.headers["Content-Type"].startswith("application/json")


def test_a_notice_wakes_the_server_that_waits_and_is_told_until_it_was_seen(
    running: RunningSite, server: Server
) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.ask, "GET", "/notices?wait_s=20")
        number = add_notice(running, "ana", "The disk is nearly full: 1.2 GiB are left.")
        begun = time.monotonic()
        found = waiting.result().json()["notices"]
        assert time.monotonic() - begun < 10
    assert [notice["text"] for notice in found] == ["The disk is nearly full: 1.2 GiB are left."]
    assert server.ask("GET", "/notices").json()["notices"] == found
    assert server.ask("POST", f"/notices/{number}/seen", json={}).status_code == 200
    assert server.ask("GET", "/notices").json() == {"notices": []}


def test_notices_of_others_are_neither_told_nor_marked(running: RunningSite, server: Server) -> None:
    number = add_notice(running, "rui", "Only for Rui.")
    assert server.ask("GET", "/notices").json() == {"notices": []}
    assert server.ask("POST", f"/notices/{number}/seen", json={}).status_code == 404
    with running.store.read() as session:
        rui = people.find_person(session, "rui")
        assert rui
        assert [notice.id for notice in notices.unseen_notices(session, rui.id)][-1] == number


def test_what_a_server_reports_is_shown_to_its_person(server: Server, ana: Browser) -> None:
    then = "2026-11-30T12:00:00+00:00"
    body = {"kernels": [{"busy": True, "last_activity": then}], "terminals": []}
    assert server.ask("POST", "/report", json=body).status_code == 200
    shown = ana.api("GET", "projects/optics/server").json()["activity"]
    assert shown.pop("reported_at")
    assert shown == {"stale": False, "kernels": 1, "busy_kernels": 1, "terminals": 0, "last_activity": then}
    assert "1 notebook, 1 computing</time>" in ana.get("/services/bancada/").text


def stops_by_servers(running: RunningSite) -> list[tuple[str, str]]:
    with running.store.read() as session:
        entries = trace.audit_entries(session)
    return [(one.actor, one.subject) for one in entries if one.action == "server.stop" and "by" in one.detail]


def test_a_report_renews_what_its_server_holds_and_a_silent_one_shows(
    running: RunningSite, server: Server, ana: Browser
) -> None:
    """A lease is renewed by a server that lives; one that was not heard of for long is named, and ends not by that."""
    with running.store.write() as session:
        person, project = people.find_person(session, "ana"), projects.find_project(session, "optics")
        assert person
        assert project
        shape = {"cards": 1, "purpose": "training"}
        now_s = time.time()
        new = requests_store.NewRequest(project.id, person.id, {**SHAPE, **shape}, "hold", now_s)
        number = requests_store.add_request(session, new)
        requests_store.close_request(session, number, requests_store.RequestState.GRANTED, None, now_s)
        lease = leases.StoredLease(number, ("GPU-x",), 1000, now_s, now_s + 3600, now_s + 60)
        leases.add_lease(session, lease, {"GPU-x": 1})
        servers.claim(session, servers.NewServer("start-x", person.id, project.id, "work", "s", 2**30, 1.0))
        assert leases.claim_lease(session, number, "start-x", now_s)
    try:
        assert server.ask("POST", "/report", json=NOTHING_RUNS).status_code == 200
        with running.store.read() as session:
            ((found, _),) = leases.live_leases(session)
        assert found.renewed_s is not None
        assert found.renewed_s >= now_s
        with running.store.write() as session:
            leases.renew_leases(session, (project.id, person.id), now_s - 3600)
        (holds,) = ana.api("GET", "queue").json()["holds"]
        assert holds["silent_since"]
    finally:
        with running.store.write() as session:
            leases.end_lease(session, number, time.time())
            servers.release(session, "start-x")


def test_a_server_stops_itself_and_no_other(running: RunningSite, server: Server, ana: Browser) -> None:
    assert server.ask("POST", "/stop", json={}).status_code == 202
    wait_until(lambda: ana.api("GET", "projects/optics/server").json()["state"] == "stopped", "optics is stopped")
    wait_until(lambda: stops_by_servers(running) == [("ana", "project:optics")], "the stop is on record")
