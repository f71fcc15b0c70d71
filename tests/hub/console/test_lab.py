"""Labs, projects and people through the pages: who changes what, what is refused, and what the audit says."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from bancada_hub.console.routes import READING
from bancada_hub.console.table import ROUTES
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.roles import Actor
from bancada_hub.store.people import find_person
from bancada_hub.store.projects import projects_of
from bancada_hub.store.server_ends import ServerEnd, keep_end
from bancada_hub.store.servers import NewServer, claim, release
from bancada_hub.store.trace import Filter, audit_entries, verify
from tests.hub.console.running import PASSWORD, Browser, RunningSite, hidden, wait_until
from tests.hub.console.test_server_api import add_notice

CODE = "<script>alert(1)</script>"


def signed_in(running: RunningSite, name: str, password: str = PASSWORD) -> Browser:
    browser = Browser(running)
    assert browser.sign_in(name, password).status_code == 200
    return browser


@pytest.fixture(scope="module")
def admin(running: RunningSite) -> Browser:
    return signed_in(running, "admin")


@pytest.fixture(scope="module")
def lead(running: RunningSite, admin: Browser) -> Iterator[Browser]:
    """A lead of the lab “plants”, with the projects wheat and maize in it."""
    made = admin.api("POST", "people", json={"name": "lina", "display_name": "Lina " + CODE}).json()
    assert admin.api("POST", "labs", json={"slug": "plants", "title": "Plants " + CODE}).status_code == 200
    assert admin.api("POST", "labs/plants/leads", json={"name": "lina"}).status_code == 200
    browser = signed_in(running, "lina", made["password"])
    change = {"old": made["password"], "new": PASSWORD}
    page = browser.get("/services/bancada/profile").text
    headers = {"Accept": "application/json", "X-XSRFToken": hidden(page, "data-keep")}
    refused = browser.get("/services/bancada/api/projects", headers=headers)
    assert (refused.status_code, refused.json()["fix"]) == (403, "Change it on the page Profile.")
    assert browser.get("/services/bancada/").url.endswith("/profile"), "led to the profile first"
    assert browser.post("/services/bancada/api/profile/password", json=change, headers=headers).status_code == 200
    for slug in ("wheat", "maize"):
        reply = browser.api("POST", "labs/plants/projects", json={"slug": slug, "title": f"{slug} {CODE}"})
        assert reply.status_code == 200, reply.text
    return browser


def last_row(running: RunningSite) -> tuple[str, str, str, str]:
    with running.store.read() as session:
        row = audit_entries(session, Filter(limit=1))[0]
    return row.actor, row.action, row.subject, row.result


def test_a_lead_adds_people_and_they_see_the_project(lead: Browser, running: RunningSite) -> None:
    reply = lead.api("POST", "projects/wheat/members", json={"name": "iris"})
    assert reply.json()["message"] == "iris is in the project."
    assert last_row(running) == ("lina", "project.add-member", "project:wheat", "done")
    iris = signed_in(running, "iris")
    assert "wheat" in [project["slug"] for project in iris.api("GET", "projects").json()["projects"]]
    assert "maize" not in [project["slug"] for project in iris.api("GET", "projects").json()["projects"]]


def test_removing_a_member_stops_what_runs_there_and_says_so(lead: Browser, running: RunningSite) -> None:
    lead.api("POST", "projects/wheat/members", json={"name": "rui"})
    rui = signed_in(running, "rui")
    assert rui.api("POST", "projects/wheat/start", json={}).status_code == 202
    wait_until(lambda: rui.api("GET", "projects/wheat/server").json()["state"] == "running", "it runs")
    said = lead.api("POST", "projects/wheat/members/rui/remove", json={}).json()["message"]
    assert said == "rui is no longer in the project; their files stay. rui had wheat running; it was stopped."
    assert rui.api("GET", "projects/wheat/server").status_code == 404
    assert rui.api("POST", "projects/wheat/start", json={}).status_code == 404
    lead.api("POST", "projects/wheat/members", json={"name": "rui"})
    ended = rui.api("GET", "projects/wheat/server").json()["ended"]
    assert ended["cause"] == "outside"
    assert ended["message"].endswith(f"Lina {CODE} took you out of the project.")
    page = rui.get("/services/bancada/").text
    assert "took you out of the project." in page
    assert CODE not in page
    page = rui.post("/services/bancada/api/projects/wheat/dismiss", data={"_xsrf": hidden(page, "_xsrf")})
    assert page.status_code == 200
    assert "took you out of the project." not in page.text
    lead.api("POST", "projects/wheat/members/rui/remove", json={})


def test_the_last_lead_stays(lead: Browser) -> None:
    for path, body in (("members/lina/lead", {"lead": False}), ("members/lina/remove", {}), ("leave", {})):
        reply = lead.api("POST", f"projects/maize/{path}", json=body)
        assert reply.status_code == 409
        assert "the only lead" in reply.json()["message"]
        assert reply.json()["fix"].startswith("Make somebody else a lead first")
    project = next(each for each in lead.api("GET", "labs/plants").json()["projects"] if each["slug"] == "maize")
    assert project["members"] == [{"name": "lina", "lead": True}]


def test_of_two_who_edit_one_project_the_second_is_told_who_was_first(lead: Browser, admin: Browser) -> None:
    project = next(each for each in lead.api("GET", "labs/plants").json()["projects"] if each["slug"] == "maize")
    first = admin.api("POST", "projects/maize/change", json={"title": "Maize roots", "version": project["version"]})
    assert first.json()["version"] == project["version"] + 1
    second = lead.api("POST", "projects/maize/change", json={"title": "Mine", "version": project["version"]})
    assert second.status_code == 409
    assert re.match(r"admin changed this project at .* it is now called “Maize roots”", second.json()["message"])


def test_text_that_is_code_is_text_on_every_page(lead: Browser, admin: Browser) -> None:
    lead.api("POST", "projects/wheat/members", json={"name": "bia"})
    for browser, path in (
        (lead, "lab/plants"),
        (lead, "profile"),
        (lead, ""),
        (admin, "lab/plants"),
        (admin, "site/people"),
        (admin, "site/labs"),
        (admin, "site/audit"),
    ):
        page = browser.get(f"/services/bancada/{path}")
        assert page.status_code == 200, path
        assert CODE not in page.text, path
        assert "&lt;script&gt;" in page.text, path


@pytest.mark.parametrize("slug", ["", "Wheat", "1wheat", "x-wheat", "me-wheat", "wheat-", "w" * 25, "a/b", "trigo é"])
def test_a_short_name_that_cannot_be_is_refused_with_one_that_would_do(lead: Browser, slug: str) -> None:
    reply = lead.api("POST", "labs/plants/projects", json={"slug": slug, "title": "T"})
    assert reply.status_code == 409
    assert reply.json()["fix"]


def test_an_unknown_account_is_named(lead: Browser) -> None:
    reply = lead.api("POST", "projects/wheat/members", json={"name": "nobody-here"})
    assert (reply.status_code, "nobody-here" in reply.json()["message"]) == (409, True)


def test_a_project_leads_page_has_their_own_projects_alone(running: RunningSite) -> None:
    bia = signed_in(running, "bia")
    page = bia.get("/services/bancada/lab")
    assert page.url.endswith("/lab/light")
    assert 'id="project-optics"' in page.text
    assert 'id="project-slow"' not in page.text
    assert "New project" not in page.text
    assert bia.api("POST", "projects/slow/members", json={"name": "rui"}).status_code == 404
    assert bia.api("POST", "labs/light/projects", json={"slug": "more", "title": "More"}).status_code == 404


def test_forms_without_scripts_say_what_they_did(lead: Browser) -> None:
    token = hidden(lead.get("/services/bancada/lab/plants").text, "_xsrf")
    data = {"_xsrf": token, "name": "iris", "lead": "on"}
    page = lead.post("/services/bancada/api/projects/maize/members", data=data)
    assert "iris is in the project, as a lead." in page.text
    assert 'href="/services/bancada/lab/plants"' in page.text
    stale = lead.post("/services/bancada/api/projects/maize/members", data=data | {"_xsrf": "stale"})
    assert stale.status_code == 403
    assert "This page is out of date" in stale.text


def test_an_account_is_added_switched_off_and_on_and_given_a_password(admin: Browser, running: RunningSite) -> None:
    made = admin.api("POST", "people", json={"name": "tomas"}).json()
    assert len(made["password"]) >= 15
    assert last_row(running) == ("admin", "person.add", "person:tomas", "done")
    assert admin.api("POST", "people/tomas/disable", json={}).status_code == 200
    assert Browser(running).sign_in("tomas", made["password"]).status_code == 403
    assert admin.api("POST", "people/tomas/enable", json={}).status_code == 200
    again = admin.api("POST", "people/tomas/password", json={}).json()["password"]
    assert again != made["password"]
    assert signed_in(running, "tomas", again).get("/services/bancada/").url.endswith("/profile")
    last = admin.api("POST", "people/admin/disable", json={})
    assert (last.status_code, "only administrator" in last.json()["message"]) == (409, True)
    assert made["password"] not in admin.get("/services/bancada/site/audit").text


def test_the_profile_decides_language_and_theme_and_hub_pages_follow(running: RunningSite) -> None:
    leo = signed_in(running, "leo")
    assert leo.api("POST", "profile", json={"language": "pt-BR", "theme": "dark"}).status_code == 200
    leo.cookies.set("bancada-language", "en", domain="127.0.0.1", path="/")
    page = leo.get("/services/bancada/").text
    assert '<html lang="pt-BR" data-theme="dark"' in page
    assert '<html lang="pt-BR"' in leo.get("/hub/nothing").text
    refused = leo.api("POST", "profile", json={"language": "de"})
    assert refused.status_code == 400
    assert leo.api("POST", "profile", json={"language": "", "theme": ""}).status_code == 200
    wrong = leo.api("POST", "profile/password", json={"old": "wrong-horse-battery", "new": PASSWORD + "2"})
    assert (wrong.status_code, wrong.json()["message"]) == (403, "The old password is not right.")


def test_site_shows_settings_without_secrets_and_the_checks(admin: Browser, running: RunningSite) -> None:
    page = admin.get("/services/bancada/site/settings").text
    assert "Grupo de Ótica" in page
    assert "package" in page
    found = admin.api("POST", "site/doctor", json={}).json()
    assert {"settings", "disk", "database", "engine"} <= {check["name"] for check in found["checks"]}
    assert last_row(running)[1] == "site.examine"
    assert "database" in admin.get("/services/bancada/site/doctor").text


def test_the_audit_is_filtered_and_paged(admin: Browser) -> None:
    rows = admin.api("GET", "audit?actor=lina&action=project.").json()["entries"]
    assert rows
    assert {row["actor"] for row in rows} == {"lina"}
    older = admin.api("GET", f"audit?before={rows[0]['id']}").json()["entries"]
    assert all(row["id"] < rows[0]["id"] for row in older)
    for bad in ("x", "-1", "1" * 30, "²"):
        assert admin.api("GET", f"audit?before={bad}").status_code == 400


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("gpus", "No NVIDIA driver on this host"),
        ("images", "Minimal"),
        ("storage", "are free on the disk"),
        ("snapshots", "A snapshot keeps the exact stack of a result."),
    ],
)
def test_the_other_tabs_say_what_is_true(running: RunningSite, path: str, words: str) -> None:
    assert words in signed_in(running, "iris").get(f"/services/bancada/{path}").text


def test_limits_are_set_on_the_pages_and_shown_there(lead: Browser, admin: Browser, running: RunningSite) -> None:
    def read(browser: Browser) -> dict:
        return browser.api("GET", "labs/plants").json()

    limits = {"max_memory_gib": 16, "max_cpus": 8, "version": read(admin)["version"]}
    assert lead.api("POST", "labs/plants/limits", json=limits).status_code == 404
    assert admin.api("POST", "labs/plants/limits", json=limits).status_code == 200
    assert admin.api("POST", "labs/plants/limits", json=limits).status_code == 409
    maize = next(each for each in read(lead)["projects"] if each["slug"] == "maize")
    body = {"max_memory_gib": 8.5, "max_cpus": None, "egress": "none", "version": maize["version"]}
    said = lead.api("POST", "projects/maize/limits", json=body).json()
    assert said["message"].endswith("They hold from each server's next start.")
    assert last_row(running) == ("lina", "project.limits", "project:maize", "done")
    page = lead.get("/services/bancada/lab/plants").text
    assert "0.0 GiB of 8.5 GiB" in page
    assert "0.0 GiB of 16.0 GiB" in page
    assert "0 cores; no limit of its own" in page
    assert '<option value="none" selected>Nothing outside</option>' in page
    assert "The lab&#39;s limit: 16.0 GiB" in page
    assert "Takes effect at each server&#39;s next start." in page
    assert "0.0 GiB of 16.0 GiB" in admin.get("/services/bancada/site/labs").text
    assert "In use by all servers" in admin.get("/services/bancada/site").text
    form = {"_xsrf": hidden(page, "data-keep"), "egress": "open", "version": str(said["version"])}
    back = lead.post(
        "/services/bancada/api/projects/maize/limits", data={**form, "max_memory_gib": "", "max_cpus": "0,5"}
    )
    assert "They hold from each server" in back.text
    maize = next(each for each in read(lead)["projects"] if each["slug"] == "maize")
    assert (maize["max_memory_bytes"], maize["max_cpus"], maize["egress"]) == (None, 0.5, "open")


def test_site_says_who_holds_what(admin: Browser, running: RunningSite) -> None:
    with running.store.write() as session:
        iris = find_person(session, "iris")
        assert iris is not None
        (personal,) = [each for each in projects_of(session, iris.id) if each.personal]
        claim(session, NewServer("5e5510e5", iris.id, personal.id, "work", "l", 3 * 2**30, 1.5))
    page = admin.get("/services/bancada/site").text
    with running.store.write() as session:
        release(session, "5e5510e5")
    row = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index("<tbody>", page.index('id="use-title"')) :]))
    assert row.startswith(" iris Personal L 3.0 GiB 1.5 cores 20"), row[:80]
    assert "3.0 GiB of " in page


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"max_cpus": 0}, 409, "A limit of 0 cores is not possible."),
        ({"max_memory_gib": -4}, 409, "A limit of -4 GiB of memory is not possible."),
        ({"max_memory_gib": 1e300}, 409, "A limit of 1e+300 GiB of memory is not possible."),
        ({"max_memory_gib": "16"}, 400, "The field “max_memory_gib” must be a number, or empty."),
        ({"max_cpus": True}, 400, "The field “max_cpus” must be a number, or empty."),
        ({"max_cpus": [2]}, 400, "The field “max_cpus” must be a number, or empty."),
        ({"egress": "everywhere"}, 400, "The field “egress” can be one of these: open, mirror, none."),
        ({"egress": None}, 400, "The field “egress” must be text."),
    ],
)
def test_a_limit_that_cannot_be_is_refused(lead: Browser, change: dict, status: int, said: str) -> None:
    body = {"max_memory_gib": 4, "max_cpus": 2, "egress": "open", "version": 1, **change}
    reply = lead.api("POST", "projects/wheat/limits", json=body)
    assert (reply.status_code, reply.json()["message"]) == (status, said)


def add_end(running: RunningSite, name: str) -> str:
    """Keep an end of a server of somebody's personal project; returns its slug."""
    with running.store.write() as session:
        person = find_person(session, name)
        assert person is not None
        project = next(project for project in projects_of(session, person.id) if project.personal)
        keep_end(session, project.id, person.id, ServerEnd(datetime.now(UTC), "removed"))
    return project.slug


CORAL_SHARE = {
    "max_gpus": 2,
    "max_person_gpus": 1,
    "guarantee": None,
    "within_hours": 4,
    "guarantee_gib": None,
    "gpu_weight": None,
    "version": 3,
}
OF_GPUS: list[tuple[str, dict[str, str], dict[str, object]]] = [
    ("api/labs/{lab}/share", {"lab": "sea"}, {"max_gpus": 4, "gpu_weight": 2, "version": 3}),
    ("api/projects/{project}/share", {"project": "coral"}, CORAL_SHARE),
    ("api/labs/{lab}/rules", {"lab": "sea"}, {"until": "2100-01-01", "max_gpus": 5}),
    ("api/projects/{project}/rules", {"project": "coral"}, {"hours": "22:00-08:00", "max_gpus": 1}),
    ("api/rules/{rule}/remove", {"rule": "2"}, {}),
]
CORAL_LIMITS = {"max_memory_gib": 16, "max_cpus": 4, "egress": "open", "version": 2}


OF_AN_ACCOUNT: list[tuple[str, dict[str, str], dict[str, object]]] = [
    ("api/people", {}, {"name": "yara"}),
    ("api/people/{person}/disable", {"person": "yara"}, {}),
    ("api/people/{person}/enable", {"person": "yara"}, {}),
    ("api/people/{person}/admin", {"person": "yara"}, {"admin": True}),
    ("api/people/{person}/password", {"person": "yara"}, {}),
]
OWN_STEPS: list[tuple[str, dict[str, str], dict[str, object]]] = [
    ("api/profile", {}, {"theme": "light"}),
    ("api/profile/password", {}, {"old": PASSWORD, "new": PASSWORD + "-2"}),
    ("api/profile/password", {}, {"old": PASSWORD + "-2", "new": PASSWORD}),
    ("api/site/doctor", {}, {}),
]


def test_every_change_leaves_its_row(admin: Browser, lead: Browser, running: RunningSite) -> None:
    """Calls each route that changes something, once, so that it does, and finds its row in the audit."""
    add_account(running.store, running.installation.site, Actor.command_line(), NewAccount("zoe", password=PASSWORD))
    steps = [
        ("api/labs", {}, {"slug": "sea", "title": "Sea"}),
        ("api/labs/{lab}/change", {"lab": "sea"}, {"title": "Deep sea"}),
        ("api/labs/{lab}/limits", {"lab": "sea"}, {"max_memory_gib": 16, "max_cpus": None, "version": 2}),
        ("api/labs/{lab}/leads", {"lab": "sea"}, {"name": "admin"}),
        ("api/labs/{lab}/projects", {"lab": "sea"}, {"slug": "coral", "title": "Coral"}),
        ("api/projects/{project}/change", {"project": "coral"}, {"title": "Corals", "version": 1}),
        ("api/projects/{project}/limits", {"project": "coral"}, CORAL_LIMITS),
        *OF_GPUS,
        ("api/projects/{project}/members", {"project": "coral"}, {"name": "zoe", "lead": True}),
        ("api/projects/{project}/members/{person}/lead", {"project": "coral", "person": "zoe"}, {"lead": False}),
        ("api/projects/{project}/members/{person}/lead", {"project": "coral", "person": "zoe"}, {"lead": True}),
        ("api/projects/{project}/start", {"project": "coral"}, {}),
        ("api/projects/{project}/stop", {"project": "coral"}, {}),
        ("api/projects/{project}/reset", {"project": "coral"}, {}),
        ("api/projects/{project}/dismiss", {"project": add_end(running, "admin")}, {}),
        ("api/projects/{project}/leave", {"project": "coral"}, {}),
        ("api/projects/{project}/members/{person}/remove", {"project": "wheat", "person": "iris"}, {}),
        ("api/projects/{project}/archive", {"project": "coral"}, {}),
        ("api/projects/{project}/reopen", {"project": "coral"}, {}),
        ("api/projects/{project}/archive", {"project": "coral"}, {}),
        ("api/labs/{lab}/leads/{person}/remove", {"lab": "sea", "person": "admin"}, {}),
        ("api/labs/{lab}/archive", {"lab": "sea"}, {}),
        ("api/labs/{lab}/reopen", {"lab": "sea"}, {}),
        *OF_AN_ACCOUNT,
        *OWN_STEPS,
        ("api/notices/{notice}/seen", {"notice": str(add_notice(running, "admin", "One."))}, {}),
        ("api/notices/seen", {}, {"up_to": add_notice(running, "admin", "Two.")}),
    ]
    by_path = {route.path: route for route in ROUTES}
    for path, names, body in steps:
        if path.endswith("/reset"):
            wait_until(lambda: admin.api("GET", "projects/coral/server").json()["state"] == "stopped", "it stopped")
        address = path.format(**names).removeprefix("api/")
        reply = admin.api("POST", address, json=body)
        assert reply.ok, (path, reply.text)
        assert last_row(running)[1:4:2] == (by_path[path].rules["POST"].audit, "done"), path
        if path == "api/profile/password":  # which signs out everywhere
            admin.sign_in("admin", str(body["new"]))
    changing = {route.path for route in ROUTES if set(route.rules) - READING}
    # What needs a card is in test_gpu_queue and gpus/test_marks, the DELETE in test_routes.
    changing = {path for path in changing if not path.startswith(("api/gpus/", "api/queue/"))}
    assert changing - {path for path, _, _ in steps} == {"api/projects/{project}/server", "api/projects/{project}/gpu"}
    with running.store.read() as session:
        assert verify(session) == []
