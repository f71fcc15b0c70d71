"""A lab from nothing: an admin makes it, its lead makes projects, a researcher works in both, others see none.

Each test goes on where the last was. The pictures of docs/images that show it are made here.
"""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from bancada_hub.installation import read_installation
from bancada_hub.store.database import open_store
from bancada_hub.store.projects import find_project
from tests.e2e.conftest import FirstSite
from tests.e2e.pages import card, new_notebook, open_lab, run_cell, sign_in, start_project, stop_project

pytestmark = [pytest.mark.engine, pytest.mark.browser, pytest.mark.timeout(900)]

Picture = Callable[[Page, str], None]
LEAD, RESEARCHER, OUTSIDER = "lena", "rita", "oto"
WRITE = "from pathlib import Path; print(Path('harvest.txt').write_text('12 t'))"
LOOK = "from pathlib import Path; print(sorted(path.name for path in Path('/project').glob('*.txt')))"


@pytest.fixture(scope="module")
def people(site: FirstSite) -> tuple[str, ...]:
    assert site.first_up.status == 0, site.first_up.text
    for name in (LEAD, RESEARCHER, OUTSIDER):
        site.add_person(name)
    return LEAD, RESEARCHER, OUTSIDER


def test_an_admin_makes_a_lab_and_its_lead(
    site: FirstSite, people: tuple[str, ...], page: Page, picture: Picture
) -> None:
    sign_in(page, site, "admin")
    page.goto(f"{site.url}services/bancada/site/labs")
    page.get_by_label("Title").fill("Plant genomics")
    page.get_by_label("Short name").fill("plants")
    page.get_by_role("button", name="Make").click()
    expect(page.locator("#said")).to_contain_text("The lab plants is made.")
    page.goto(f"{site.url}services/bancada/lab/plants")
    page.get_by_label("Account name").fill(LEAD)
    page.get_by_role("button", name="Make lead of the lab").click()
    expect(page.locator("#said")).to_contain_text(f"{LEAD} leads the lab plants now.")
    page.goto(f"{site.url}services/bancada/site/people")
    expect(page.get_by_role("row", name=LEAD)).to_be_visible()
    picture(page, "site-people")


def test_the_lead_makes_two_projects_and_adds_a_person(site: FirstSite, page: Page, picture: Picture) -> None:
    sign_in(page, site, LEAD)
    page.get_by_role("link", name="Lab", exact=True).click()
    for title, slug in (("Wheat", "wheat"), ("Rye", "rye")):
        new = page.locator("section.card").filter(has=page.get_by_role("heading", name="New project"))
        new.get_by_label("Title").fill(title)
        new.get_by_label("Short name").fill(slug)
        new.get_by_role("button", name="Make", exact=True).click()
        project = page.locator(f"#project-{slug}")
        project.get_by_label("Account name").fill(RESEARCHER)
        project.get_by_role("button", name="Add to the project").click()
        expect(page.locator("#said")).to_contain_text(f"{RESEARCHER} is in the project")
    picture(page, "lab-page")


def test_a_researcher_works_in_both_and_their_files_stay_apart(site: FirstSite, page: Page, picture: Picture) -> None:
    sign_in(page, site, RESEARCHER)
    told = page.locator("#notices")
    for title in ("Wheat", "Rye"):
        expect(told).to_contain_text(f"You are in the project “{title}” now.")
    picture(page, "notices")
    told.get_by_role("button", name="Dismiss these 2").click()
    expect(told.locator("[data-notice]")).to_have_count(0)
    start_project(page, site, "Wheat")
    open_lab(page, site, "Wheat")
    new_notebook(page, "Project")
    assert run_cell(page, WRITE) == "4"
    start_project(page, site, "Rye")
    open_lab(page, site, "Rye")
    new_notebook(page, "Project")
    assert run_cell(page, LOOK) == "[]"
    open_lab(page, site, "Wheat")
    new_notebook(page, "Project")
    assert run_cell(page, LOOK) == "['harvest.txt']"
    stop_project(page, site, "Rye")
    page.get_by_role("button", name="Português").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Trabalho")
    expect(card(page, "Wheat")).to_contain_text("Em execução")
    picture(page, "work-pt")
    card(page, "Wheat").get_by_role("button", name="Parar").click()
    expect(card(page, "Wheat").get_by_role("button", name="Iniciar", exact=True)).to_be_enabled(timeout=60_000)
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Work")


def test_somebody_else_sees_neither(site: FirstSite, page: Page) -> None:
    sign_in(page, site, OUTSIDER)
    expect(card(page, "Personal")).to_be_visible()
    expect(card(page, "Wheat")).to_have_count(0)
    expect(page.get_by_role("link", name="Lab", exact=True)).to_have_count(0)
    console = f"{site.url}services/bancada/"
    for path in ("lab/plants", "site", "site/people", "api/projects/wheat/server", "api/projects/rye/server"):
        assert page.request.get(f"{console}{path}").status == 404, path
    assert page.request.get(f"{site.url}user/{RESEARCHER}/wheat/api").status in {403, 404}


def test_a_removed_member_is_stopped_and_out(site: FirstSite, page: Page) -> None:
    sign_in(page, site, RESEARCHER)
    start_project(page, site, "Rye")
    page.context.clear_cookies()
    sign_in(page, site, LEAD)
    page.goto(f"{site.url}services/bancada/lab/plants")
    rye = page.locator("#project-rye")
    rye.get_by_label(f"Change {RESEARCHER}").click()
    rye.get_by_role("button", name="Remove").click()
    expect(page.locator("#said")).to_contain_text(RESEARCHER)
    page.context.clear_cookies()
    sign_in(page, site, RESEARCHER)
    expect(card(page, "Wheat")).to_be_visible()
    expect(card(page, "Rye")).to_have_count(0)
    expect(page.locator("#notices")).to_contain_text("You are no longer in the project “Rye”.")
    installation = read_installation(site.data)
    with open_store(installation.site, installation.places).read() as session:
        project = find_project(session, "rye")
    assert project
    labels = [f"bancada.site={installation.facts.site_id}", f"bancada.project={project.id}"]
    assert site.engine.client().containers.list(filters={"label": labels}) == []
