"""Work and the REST behind it, over HTTP: start, open, stop, reset, and what is refused."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from bancada_hub.store.people import find_person, people
from bancada_hub.store.projects import find_project
from tests.hub.console.running import DIGEST, WHY, Browser, RunningSite, hidden, wait_until

API = "/services/bancada/api/"


def server(browser: Browser, slug: str) -> dict[str, object]:
    reply = browser.api("GET", f"projects/{slug}/server")
    assert reply.status_code == 200, reply.text
    return reply.json()


def wait_for(browser: Browser, slug: str, state: str) -> dict[str, object]:
    wait_until(lambda: server(browser, slug)["state"] == state, f"{slug} is {state}")
    return server(browser, slug)


def card(page: str, slug: str) -> str:
    return page.split(f'id="project-{slug}"', 1)[1].split("</section>", 1)[0]


def test_projects_are_listed_with_image_and_state(ana: Browser) -> None:
    found = ana.api("GET", "projects").json()["projects"]
    assert [(project["title"], project["personal"]) for project in found] == [
        ("Broken mirror", False),
        ("Optics", False),
        ("Slow light", False),
        ("Personal", True),
    ]
    assert found[1]["image"] == {"title": "Minimal", "revision": DIGEST, "python": "3.11.2"}


def test_start_open_stop(ana: Browser) -> None:
    started = ana.api("POST", "projects/optics/start", json={})
    assert (started.status_code, started.json()) == (202, {"project": "optics", "state": "starting"})
    running = wait_for(ana, "optics", "running")
    assert running["url"] == "/user/ana/optics/"
    assert ana.get(str(running["url"])).text == "hello from /user/ana/optics/"
    page = card(ana.get("/services/bancada/").text, "optics")
    assert "Running</span>" in page
    assert 'href="/user/ana/optics/"' in page
    again = ana.api("POST", "projects/optics/reset")
    assert again.status_code == 409
    assert again.json()["message"] == "The environment is in use, so it was not reset."
    assert ana.api("DELETE", "projects/optics/server").status_code == 202
    assert wait_for(ana, "optics", "stopped")["url"] == ""
    assert ana.get("/user/ana/optics/").text.count("<h1>Not running</h1>") == 1


def test_a_start_shows_its_progress_and_can_be_cancelled(ana: Browser) -> None:
    started = ana.api("POST", "projects/slow/start", json={"kind": "work"})
    assert started.status_code == 202
    wait_until(lambda: server(ana, "slow")["progress"] == "Laying out folders", "the progress is told")
    found = server(ana, "slow")
    assert found["text"] == "Starting"
    page = card(ana.get("/services/bancada/").text, "slow")
    assert "Laying out folders" in page
    assert "Cancel</button>" in page
    assert ana.get("/user/ana/slow/").text.count("<h1>Starting</h1>") == 1
    assert ana.api("DELETE", "projects/slow/server").status_code == 202
    assert wait_for(ana, "slow", "stopped")["failure"] == "", "one's own cancel is no failure"


def test_two_starts_and_two_stops_at_one_instant_are_one(ana: Browser, running: RunningSite) -> None:
    other = Browser(running)
    assert other.sign_in("ana").status_code == 200
    for act, state in (("start", "running"), ("stop", "stopped")):
        with ThreadPoolExecutor(2) as threads:
            asked = [threads.submit(tab.api, "POST", f"projects/optics/{act}", json={}) for tab in (ana, other)]
            answers = [each.result() for each in asked]
        assert [answer.status_code for answer in answers] == [202, 202], [answer.text for answer in answers]
        wait_for(ana, "optics", state)


def test_a_failure_is_shown_with_its_reason_and_safe_mode_is_offered(ana: Browser) -> None:
    refused = ana.api("POST", "projects/broken/start", json={})
    assert refused.status_code in {202, 500}
    wait_until(lambda: server(ana, "broken")["failure"] == WHY, "the failure is told")
    found = server(ana, "broken")
    assert (found["state"], found["text"]) == ("stopped", "Did not start")
    page = card(ana.get("/services/bancada/").text, "broken")
    assert WHY in page
    assert "Start in safe mode" in page
    assert ana.api("POST", "projects/broken/start", json={"kind": "rescue"}).status_code == 202
    running = wait_for(ana, "broken", "running")
    assert (running["text"], running["safe_mode"]) == ("Running in safe mode", True)
    assert "Safe mode leaves out" in card(ana.get("/services/bancada/").text, "broken")
    ana.api("DELETE", "projects/broken/server")
    assert wait_for(ana, "broken", "stopped")["failure"] == ""


def test_forms_work_without_scripts(ana: Browser) -> None:
    token = hidden(ana.get("/services/bancada/").text, "_xsrf")
    page = ana.post(API + "projects/optics/start", data={"_xsrf": token})
    assert page.url == ana.site.url + "/services/bancada/"
    wait_for(ana, "optics", "running")
    page = ana.post(API + "projects/optics/stop", data={"_xsrf": token})
    assert page.status_code == 200
    wait_for(ana, "optics", "stopped")
    page = ana.post(API + "projects/optics/start", data={"_xsrf": token, "kind": "rescue; rm"})
    assert page.status_code == 400
    assert "The field “kind” can be one of these" in page.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"image": "evil/x"}, "There is no field “image” here."),
        ({"kind": True}, "The field “kind” must be text."),
        ({"kind": "gpu"}, "The field “kind” can be one of these: work, rescue."),
        (["rescue"], "The body must be a table of names and values."),
    ],
)
def test_options_that_nobody_offers_are_refused(ana: Browser, body: object, words: str) -> None:
    reply = ana.api("POST", "projects/optics/start", json=body)
    assert reply.status_code == 400
    assert words in reply.json()["message"]
    assert server(ana, "optics")["state"] == "stopped"


def test_a_body_that_is_not_json_is_refused(ana: Browser) -> None:
    token = hidden(ana.get("/services/bancada/").text, "data-xsrf")
    headers = {"Accept": "application/json", "X-XSRFToken": token, "Content-Type": "application/json"}
    reply = ana.post(API + "projects/optics/start", data="{", headers=headers)
    assert (reply.status_code, reply.json()["message"]) == (400, "The body is not JSON.")


@pytest.mark.parametrize("slug", ["secret", "no-such", "..%2Foptics", "x" * 300])
def test_foreign_and_unknown_projects_look_alike(ana: Browser, slug: str) -> None:
    expected = {
        "status": 404,
        "message": "There is nothing at this address, or it is not yours to see.",
        "fix": "",
    }
    for method, path in (
        ("POST", "start"),
        ("GET", "server"),
        ("DELETE", "server"),
        ("POST", "stop"),
        ("POST", "reset"),
    ):
        reply = ana.api(method, f"projects/{slug}/{path}")
        assert (reply.status_code, reply.json()) == (404, expected), (method, path)


def test_site_is_there_for_admins_only(ana: Browser, running: RunningSite) -> None:
    assert ana.get("/services/bancada/site").status_code == 404
    assert 'href="/services/bancada/site"' not in ana.get("/services/bancada/").text
    admin = Browser(running)
    admin.sign_in("admin")
    page = admin.get("/services/bancada/site")
    assert page.status_code == 200
    assert "0123456789ab" in page.text
    with running.store.read() as session:
        everybody = [person for person in people(session) if not person.disabled]
    admins = sum(person.admin for person in everybody)
    assert f"{len(everybody)} accounts, {admins} admin{'s' * (admins > 1)}." in page.text
    assert 'aria-current="page">Site' in page.text
    assert 'href="/services/bancada/site"' in admin.get("/hub/nothing").text, "the hub's pages show the same tabs"


def test_a_post_without_or_with_a_stale_token_does_nothing_and_says_so(ana: Browser) -> None:
    for data in ({}, {"_xsrf": "stale"}):
        page = ana.post(API + "projects/optics/start", data=data)
        assert page.status_code == 403
        assert "<h1>This page is out of date</h1>" in page.text
        assert "Reload the page and try again." in page.text
    reply = ana.post(API + "projects/optics/start", json={}, headers={"Accept": "application/json"})
    assert reply.json()["fix"] == "Reload the page and try again."
    assert server(ana, "optics")["state"] == "stopped"


def test_the_hubs_own_xsrf_token_does_not_open_the_console(ana: Browser) -> None:
    token_page = ana.get("/hub/token").text
    stolen = token_page.split('data-xsrf="', 1)[1].split('"', 1)[0]
    reply = ana.post(API + "projects/optics/start", json={}, headers={"X-XSRFToken": stolen})
    assert reply.status_code == 403


def test_security_headers(ana: Browser) -> None:
    for path in ("/services/bancada/", "/services/bancada/api/projects", "/services/bancada/nothing"):
        headers = ana.get(path).headers
        assert "script-src 'self';" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"


def test_pages_have_no_inline_script_or_style(ana: Browser) -> None:
    page = ana.get("/services/bancada/").text
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", page)
    assert all("?v=" in address for address in re.findall(r'(?:src|href)="(/services/bancada/static/[^"]+)"', page))


def test_static_files_are_kept_by_browsers_and_nothing_else_is_served(running: RunningSite) -> None:
    style = requests.get(running.url + "/services/bancada/static/tokens.css?v=abc", timeout=30)
    assert "max-age=315360000" in style.headers["Cache-Control"]
    assert requests.get(running.url + "/services/bancada/static/..%2fskin.py", timeout=30).status_code in {403, 404}


def test_any_other_address_is_a_page_of_ours(running: RunningSite) -> None:
    page = requests.get(running.url + "/services/bancada/nothing", headers={"Accept": "text/html"}, timeout=30)
    assert page.status_code == 404
    assert "<h1>Nothing here</h1>" in page.text
    wrong = requests.put(running.url + "/services/bancada/api/preparation", timeout=30)
    assert (wrong.status_code, json.loads(wrong.text)["message"]) == (405, "This address does not do that.")


def test_reset_throws_an_overlay_away(ana: Browser, running: RunningSite) -> None:
    places = running.installation.places
    with running.store.read() as session:
        person, project = find_person(session, "ana"), find_project(session, "optics")
    assert person is not None
    assert project is not None
    upper = places.overlay(project.id, person.uid, "0123456789ab") / "upper"
    upper.mkdir(parents=True)
    (upper / "six.py").write_text("")
    assert ana.api("POST", "projects/optics/reset").json() == {"project": "optics", "reset": True}
    assert not Path(upper).exists()
    assert ana.api("POST", "projects/optics/reset").json() == {"project": "optics", "reset": False}
