"""Lab, Site and Profile in a real Chromium: an admin makes a lab, its lead makes a project, a new person signs in."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from bancada_hub.people.accounts import enable_account, set_admin, set_preferences
from bancada_hub.roles import Actor
from bancada_hub.store.people import find_person
from tests.hub.console.browser import check, shoot, sign_in
from tests.hub.console.running import PASSWORD, RunningSite

pytestmark = pytest.mark.browser


def test_a_lab_from_nothing_to_a_person_in_a_project(page: Page, running: RunningSite) -> None:
    sign_in(page, "admin")
    page.get_by_role("link", name="Site").click()
    page.get_by_role("link", name="Labs", exact=True).click()
    page.get_by_label("Title").fill("Soil <b>lab</b>")
    page.get_by_label("Short name").fill("Soil")
    page.get_by_role("button", name="Make").click()
    expect(page.get_by_role("alert")).to_contain_text("Try “soil”.")
    check(page, "site-labs-refused")
    page.get_by_label("Short name").fill("soil")
    page.get_by_role("button", name="Make").click()
    expect(page.locator("#said")).to_contain_text("The lab soil is made.")
    expect(page.locator("#said")).to_be_focused()
    page.get_by_role("link", name="People", exact=True).click()
    page.get_by_label("Account name").fill("eva")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("[data-password]")).not_to_be_empty()
    password = page.locator("[data-password]").inner_text()
    check(page, "site-people")
    page.goto("/services/bancada/lab/soil")
    page.get_by_label("Account name").fill("leo")
    page.get_by_role("button", name="Make lead of the lab").click()
    expect(page.locator("#said")).to_contain_text("leo leads the lab soil now.")
    check(page, "lab-empty")
    page.get_by_label("Title").first.fill("Worms")
    page.get_by_label("Short name").fill("worms")
    page.get_by_role("button", name="Make", exact=True).click()
    card = page.locator("#project-worms")
    expect(card).to_contain_text("Nobody is in this project yet")
    card.get_by_label("Account name").fill("eva")
    card.get_by_role("button", name="Add to the project").click()
    expect(page.locator("#said")).to_contain_text("eva is in the project, as a lead.")
    card.get_by_label("Change eva").click()
    card.get_by_role("button", name="Remove").click()
    expect(card.get_by_role("alert")).to_contain_text("is the only lead of the project")
    check(page, "lab")
    page.context.clear_cookies()
    sign_in(page, "eva", password)
    expect(page.get_by_role("heading", level=1)).to_have_text("Profile")
    check(page, "profile-first")
    page.get_by_label("Present password").fill(password)
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(page.locator("#said")).to_contain_text("Your password is changed.")
    page.get_by_role("link", name="Work", exact=True).click()
    expect(page.locator("#project-worms")).to_contain_text("Worms")
    shoot(page, "work-eva")
    page.goto("/services/bancada/lab/dark")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing here")


@pytest.mark.parametrize("path", ["gpus", "images", "storage", "snapshots", "profile", "lab/light"])
def test_pages_of_a_lead(page: Page, path: str) -> None:
    sign_in(page, "leo")
    page.goto(f"/services/bancada/{path}")
    check(page, path.replace("/", "-"))
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shoot(page, f"{path.replace('/', '-')}-narrow")


@pytest.mark.parametrize("path", ["site/labs", "site/settings", "site/audit", "site/doctor"])
def test_pages_of_an_admin(page: Page, path: str) -> None:
    sign_in(page, "admin")
    page.goto(f"/services/bancada/{path}")
    if path == "site/doctor":
        page.get_by_role("button", name="Run the checks").click()
        expect(page.locator("#said")).to_be_visible(timeout=60_000)
    check(page, path.replace("/", "-"))


def test_a_person_is_switched_off_and_on_by_keyboard(page: Page, running: RunningSite) -> None:
    sign_in(page, "admin")
    page.goto("/services/bancada/site/people")
    page.get_by_label("Change rui").focus()
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Switch off")).to_be_focused()
    try:
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_contain_text("The account rui is switched off.")
        expect(page.get_by_role("row", name="rui")).to_contain_text("Switched off")
    finally:
        enable_account(running.store, Actor.command_line(), "rui")


def test_somebody_runs_the_site_and_no_longer(page: Page, running: RunningSite) -> None:
    sign_in(page, "admin")
    page.goto("/services/bancada/site/people")
    try:
        page.get_by_label("Change rui").click()
        page.get_by_role("row", name="rui").get_by_role("button", name="Let them run this site").click()
        expect(page.locator("#said")).to_contain_text("rui runs this site now.")
        expect(page.get_by_role("row", name="rui")).to_contain_text("Admin")
        page.get_by_label("Change rui").click()
        page.locator("#admin-rui > summary").click()
        expect(page.get_by_role("row", name="rui")).to_contain_text("Labs and projects of their own stay theirs.")
        page.get_by_role("row", name="rui").get_by_role("button", name="Take this role").click()
        expect(page.locator("#said")).to_contain_text("rui no longer runs this site.")
    finally:
        set_admin(running.store, Actor.command_line(), "rui", admin=False)


@pytest.fixture
def bia(running: RunningSite) -> Iterator[str]:
    """A person whose choices are forgotten afterwards, so that no other test meets them."""
    yield "bia"
    with running.store.read() as session:
        person = find_person(session, "bia")
    assert person
    set_preferences(running.store, Actor(person.id, person.name, person.admin, "test"), "", "")


def test_the_language_of_the_header_is_kept_in_the_profile(page: Page, bia: str) -> None:
    sign_in(page, bia)
    page.get_by_role("button", name="Português").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Trabalho")
    page.context.clear_cookies()
    sign_in(page, bia)
    expect(page.get_by_role("heading", level=1)).to_have_text("Trabalho")
    page.goto("/services/bancada/lab/light")
    check(page, "lab-pt")
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("link", name="Work", exact=True)).to_be_visible()


def test_limits_are_set_in_place_and_a_refusal_stands_beside_its_form(page: Page) -> None:
    sign_in(page, "admin")
    page.goto("/services/bancada/site/labs")
    page.get_by_label("Short name").fill("roots")
    page.get_by_label("Title").fill("Roots")
    page.get_by_role("button", name="Make").click()
    page.get_by_label("Change the limits of Roots").click()
    form = page.locator("#limits-roots")
    form.get_by_label("Memory, in GiB").fill("16")
    check(page, "site-labs-limits")
    form.get_by_role("button", name="Save").click()
    expect(page.locator("#said")).to_contain_text("The limits of the lab roots are saved.")
    expect(page.get_by_role("row", name="Roots")).to_contain_text("0.0 GiB of 16.0 GiB")
    page.goto("/services/bancada/lab/roots")
    page.get_by_label("Title").first.fill("Carrots")
    page.get_by_label("Short name").fill("carrots")
    page.get_by_role("button", name="Make", exact=True).click()
    card = page.locator("#project-carrots")
    card.get_by_text("Limits and network").click()
    card.get_by_label("Memory, in GiB").fill("17")
    card.get_by_role("button", name="Save").first.click()
    expect(card.get_by_role("alert")).to_contain_text("The lab's projects may hold 16.0 GiB of memory together.")
    card.get_by_label("Memory, in GiB").fill("0.5")
    card.get_by_label("Servers may reach").select_option("Nothing outside")
    check(page, "lab-limits")
    card.get_by_role("button", name="Save").first.click()
    expect(page.locator("#said")).to_contain_text("They hold from each server's next start.")
    expect(card).to_contain_text("0.0 GiB of 0.5 GiB")
    page.goto("/services/bancada/site")
    expect(page.get_by_label("Memory held by servers")).to_be_visible()
    check(page, "site-room")


def test_gpus_are_divided_by_keyboard_and_tried_first(page: Page) -> None:
    sign_in(page, "leo")
    page.goto("/services/bancada/lab/light")
    card = page.locator("#project-slow")
    card.get_by_label("GPUs of Slow light", exact=True).press("Enter")
    fold = card.locator("#gpus-fold-slow")
    fold.get_by_label("GPUs at once, at most").fill("2")
    fold.get_by_label("Guaranteed", exact=True).fill("3")
    fold.get_by_role("button", name="Preview").press("Enter")
    expect(fold.get_by_role("alert")).to_contain_text("3 guaranteed GPUs are more than the limit of 2.")
    fold.get_by_label("Guaranteed", exact=True).fill("0")
    fold.get_by_role("button", name="Preview").press("Enter")
    expect(fold.locator("output")).to_contain_text("nobody would be served sooner or later. Nothing was changed.")
    check(page, "lab-gpus-tried")
    fold.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("#said")).to_contain_text("The GPUs of the project slow are set.")
    expect(card).to_contain_text("0 of 2")
    card.get_by_label("GPUs of Slow light for a time").press("Enter")
    rules = card.locator("#gpu-rules-slow")
    rules.get_by_label("Until").fill("2100-01-01T18:00")
    rules.get_by_label("GPUs at once, at most").fill("1")
    rules.get_by_label("What for").fill("deadline")
    rules.get_by_role("button", name="Set").press("Enter")
    expect(page.locator("#said")).to_contain_text("is set.")
    card.get_by_label("GPUs of Slow light for a time").press("Enter")
    expect(rules).to_contain_text("At most 1 GPUs. Until 2100-01-01 18:00.")
    check(page, "lab-gpus-rules")
    rules.get_by_role("button", name="End rule").press("Enter")
    expect(page.locator("#said")).to_contain_text("The rule is no more.")
    expect(rules.get_by_role("button", name="End rule")).to_have_count(0)
