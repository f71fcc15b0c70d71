"""The project filter of the five common tabs: kept in the address, without scripts, and only of one's own."""

import pytest
from playwright.sync_api import Page, expect

from tests.hub.console.browser import check, shoot, sign_in
from tests.hub.console.running import Browser, hidden, wait_until

TABS = ("", "gpus", "images", "storage", "snapshots")
PREFIX = "/services/bancada/"


@pytest.mark.parametrize("tab", TABS)
def test_a_tab_shows_the_chosen_project_and_leads_on_with_it(ana: Browser, tab: str) -> None:
    page = ana.get(f"{PREFIX}{tab}?project=optics")
    assert page.status_code == 200
    for other in TABS:
        assert f'href="{PREFIX}{other}?project=optics"' in page.text
    chosen = '<option value="optics" selected>Optics</option>'
    assert chosen in page.text
    assert "Optics" in page.text.split("<main", 1)[1].replace(chosen, ""), "beside the filter itself"
    everything = ana.get(f"{PREFIX}{tab}?project=").text
    assert '<option value="optics">Optics</option>' in everything
    assert "?project=" not in everything


def test_other_projects_are_hidden_on_work_and_in_what_its_script_asks_for(ana: Browser) -> None:
    page = ana.get(f"{PREFIX}?project=optics").text
    assert 'id="project-optics"' in page
    assert 'id="project-slow"' not in page
    assert f'data-live="{PREFIX}live?project=optics"' in page
    parts = ana.get(f"{PREFIX}live?project=optics").json()["parts"]
    assert sorted(parts) == ["preparation", "project-optics", "silence"]


@pytest.mark.parametrize("tab", [*TABS, "live"])
@pytest.mark.parametrize("slug", ["secret", "no-such", "<script>", "../optics", "x" * 300])
def test_foreign_and_unknown_projects_are_404_and_look_alike(ana: Browser, tab: str, slug: str) -> None:
    reply = ana.get(f"{PREFIX}{tab}", params={"project": slug})
    assert reply.status_code == 404
    assert "There is nothing at this address, or it is not yours to see." in reply.text
    assert "Secret" not in reply.text


def test_a_form_without_scripts_comes_back_to_the_chosen_project(ana: Browser) -> None:
    address = f"{ana.site.url}{PREFIX}?project=optics"
    token = hidden(ana.get(address).text, "_xsrf")
    for verb, state in (("start", "running"), ("stop", "stopped")):
        reply = ana.post(f"{PREFIX}api/projects/optics/{verb}", data={"_xsrf": token}, headers={"Referer": address})
        assert reply.url == address
        wait_until(lambda state=state: ana.api("GET", "projects/optics/server").json()["state"] == state, state)


@pytest.mark.browser
def test_the_filter_is_used_by_keyboard_and_kept_from_tab_to_tab(page: Page) -> None:
    sign_in(page)
    page.get_by_label("Project", exact=True).select_option("Optics")
    page.get_by_role("button", name="Show").press("Enter")
    expect(page.locator(".cards > .card")).to_have_count(1)
    check(page, "work-filtered")
    page.get_by_role("link", name="Storage").click()
    assert page.url.endswith("/storage?project=optics")
    expect(page.locator("main")).to_contain_text("“Optics” shares this space")
    check(page, "storage-filtered")
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shoot(page, "storage-filtered-narrow")
    page.get_by_label("Project", exact=True).select_option("All projects")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("main")).to_contain_text("All projects share this space")
