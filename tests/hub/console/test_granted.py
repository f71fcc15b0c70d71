"""What was granted: the ledger as leads see it on Lab and in the REST, and what nobody else sees."""

import pytest
from playwright.sync_api import Page, expect

from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.projects.labs import create_lab
from bancada_hub.projects.limits import change_project_limits
from bancada_hub.projects.projects import NewProject, add_member, create_project, remove_member, set_lead
from bancada_hub.roles import Actor
from bancada_hub.store import granted, labs, projects, trace
from tests.hub.console.browser import check, shoot, sign_in
from tests.hub.console.running import PASSWORD, Browser, RunningSite

LINE = Actor.command_line()
CODE = "<i>Moss</i>"


@pytest.fixture(scope="module")
def moss(running: RunningSite) -> str:
    """A lab with the projects moss, which kai leads, and fern, which kai is not in."""
    store, site = running.store, running.installation.site
    create_lab(store, LINE, "ferns", "Ferns")
    for slug, title in (("moss", CODE), ("fern", "Fern")):
        create_project(store, site, LINE, NewProject(slug, title, "ferns"))
    for name in ("kai", "noa"):
        add_account(store, site, LINE, NewAccount(name, password=PASSWORD, must_change=False))
    add_member(store, LINE, "moss", "kai", lead=True)
    add_member(store, LINE, "moss", "noa")
    set_lead(store, LINE, "moss", "noa", lead=True)
    set_lead(store, LINE, "moss", "noa", lead=False)
    change_project_limits(store, LINE, "moss", 1, projects.ProjectLimits(3 * 2**30, 1.5, "none"))
    remove_member(store, LINE, "moss", "noa")
    add_member(store, LINE, "fern", "noa", lead=True)
    return "moss"


def signed_in(running: RunningSite, name: str) -> Browser:
    browser = Browser(running)
    assert browser.sign_in(name).status_code == 200
    return browser


def test_a_lead_sees_the_rows_of_the_projects_they_lead_alone(running: RunningSite, moss: str) -> None:
    kai = signed_in(running, "kai")
    page = kai.get("/services/bancada/lab/ferns/granted").text
    rows = page.split("<tbody>")[1].split("</tbody>")[0]
    said = [row.split('<td class="wrap">')[1].split("<")[0] for row in rows.split("<tr>")[1:]]
    assert said == [
        "No longer in the project",
        "Memory: at most 3.0 GiB; CPU cores: at most 1.5; servers may reach: Nothing outside",
        "No longer leads the project",
        "Leads the project",
        "In the project",
        "In the project, as a lead",
    ]
    assert "&lt;i&gt;Moss&lt;/i&gt;" in rows
    assert "Fern<" not in rows
    assert kai.get("/services/bancada/lab/ferns/granted?project=moss").status_code == 200
    for elsewhere in ("ferns/granted?project=fern", "ferns/granted?project=optics", "light/granted"):
        assert kai.get(f"/services/bancada/lab/{elsewhere}").status_code == 404, elsewhere


def test_the_rest_has_the_same_and_members_who_do_not_lead_have_none(running: RunningSite, moss: str) -> None:
    found = signed_in(running, "kai").api("GET", "projects/moss/ledger").json()
    assert [row["kind"] for row in found["entries"]][:2] == ["membership.ended", "limits.changed"]
    assert found["entries"][0]["person"] == "noa"
    assert found["more"] is None
    before = found["entries"][3]["id"]
    older = signed_in(running, "kai").api("GET", f"projects/moss/ledger?before={before}").json()
    assert older["entries"] == found["entries"][4:]
    assert signed_in(running, "kai").api("GET", "projects/moss/ledger?before=x").status_code == 400
    assert signed_in(running, "ana").api("GET", "projects/optics/ledger").status_code == 404
    assert signed_in(running, "kai").api("GET", "projects/fern/ledger").status_code == 404


def test_rows_about_the_lab_itself_are_its_leads_and_pages_follow_each_other(running: RunningSite, moss: str) -> None:
    with running.store.write() as session:
        trace.ledger(session, trace.NewLedgerEntry("limits.changed", None, None, {"lab": "ferns", "max_cpus": 4}))
        for _ in range(granted.PAGE):
            trace.ledger(session, trace.NewLedgerEntry("something.new", _project(running, "fern")))
    admin = signed_in(running, "admin")
    page = admin.get("/services/bancada/lab/ferns/granted").text
    assert page.count("something.new") == granted.PAGE
    older = admin.get(page.split('<a class="button" href="')[1].split('"')[0].replace("&amp;", "&")).text
    assert "The whole lab" in older
    assert "CPU cores: at most 4" in older
    assert "something.new" not in older
    assert "The whole lab" not in signed_in(running, "kai").get("/services/bancada/lab/ferns/granted").text


def _project(running: RunningSite, slug: str) -> int:
    with running.store.read() as session:
        project, lab = projects.find_project(session, slug), labs.find_lab(session, "ferns")
    assert project
    assert lab
    return project.id


@pytest.mark.browser
def test_a_lead_finds_it_from_the_projects_card(page: Page, moss: str) -> None:
    sign_in(page, "kai")
    page.goto("/services/bancada/lab/ferns")
    page.locator("#project-moss").get_by_role("link", name="What was granted").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What was granted")
    check(page, "granted")
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shoot(page, "granted-narrow")
