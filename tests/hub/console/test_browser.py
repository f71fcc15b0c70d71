"""The pages in a real Chromium: the way to a notebook, the keyboard, accessibility, languages, light and dark."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from bancada_hub.people.accounts import set_preferences
from bancada_hub.roles import Actor
from bancada_hub.store.people import find_person
from tests.hub.console.browser import check, sign_in
from tests.hub.console.running import RunningSite, clear_steps, set_steps

pytestmark = pytest.mark.browser


def test_two_clicks_from_signing_in_to_a_running_notebook(page: Page) -> None:
    sign_in(page)
    clicks: list[str] = []
    page.expose_function("clicked", lambda words: clicks.append(words))
    count = "addEventListener('click', (event) => event.isTrusted && clicked(event.target.textContent.trim()), true)"
    page.evaluate(count)
    card = page.locator("#project-optics")
    check(page, "work")
    card.get_by_role("button", name="Start").click()
    card.get_by_role("link", name="Open").wait_for(timeout=30_000)
    assert page.url.endswith("/services/bancada/"), "it started in place"
    expect(card.get_by_role("link", name="Open")).to_be_focused()
    check(page, "work-running")
    card.get_by_role("link", name="Open").click()
    expect(page.locator("body")).to_contain_text("hello from /user/ana/optics/")
    assert clicks == ["Start", "Open"]
    page.go_back()
    card.get_by_role("button", name="Stop").click()
    card.get_by_role("button", name="Start").wait_for(timeout=30_000)


def test_a_start_is_watched_and_cancelled_in_place(page: Page) -> None:
    sign_in(page)
    card = page.locator("#project-slow")
    card.get_by_role("button", name="Start").click()
    expect(card).to_contain_text("Laying out folders", timeout=15_000)
    check(page, "work-starting")
    card.get_by_role("button", name="Cancel").click()
    card.get_by_role("button", name="Start").wait_for(timeout=30_000)


def test_a_failed_start_offers_safe_mode(page: Page) -> None:
    sign_in(page)
    card = page.locator("#project-broken")
    card.get_by_role("button", name="Start").click()
    safe = card.get_by_role("button", name="Start in safe mode")
    safe.wait_for(timeout=30_000)
    check(page, "work-failed")
    safe.click()
    expect(card).to_contain_text("Running in safe mode", timeout=30_000)
    card.get_by_role("button", name="Stop").click()
    card.get_by_role("button", name="Start").wait_for(timeout=30_000)


def test_the_environment_is_reset_after_asking_in_place(page: Page) -> None:
    sign_in(page)
    card = page.locator("#project-optics")
    card.get_by_text("Reset environment").click()
    expect(card).to_contain_text("Notebooks and files stay")
    check(page, "work-reset")
    with page.expect_response("**/reset") as reply:
        card.get_by_role("button", name="Throw changes away").click()
    assert reply.value.status == 200
    expect(card.get_by_role("button", name="Throw changes away")).to_be_hidden()


def test_everything_is_reached_by_keyboard_and_the_focus_is_seen(page: Page) -> None:
    sign_in(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    seen = []
    for _ in range(7):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.parentElement.id"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    card = ["start-broken", "size-broken", "reset-broken", "leave-broken"]
    assert seen == ["project-filter", "filter", *card, "start-optics"]
    page.get_by_label("Light, dark, contrast").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Dark", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Dark", exact=True)).to_be_hidden()


@pytest.fixture
def rui(running: RunningSite) -> Iterator[str]:
    """A person whose choices are forgotten afterwards, so that no other test meets them."""
    yield "rui"
    with running.store.read() as session:
        person = find_person(session, "rui")
    assert person
    set_preferences(running.store, Actor(person.id, person.name, person.admin, "test"), "", "")


def test_language_and_appearance_are_kept_on_all_pages(page: Page, rui: str) -> None:
    sign_in(page, rui)
    page.get_by_role("button", name="Português").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Trabalho")
    check(page, "work-pt")
    page.locator("#look-menu summary").click()
    page.get_by_role("button", name="Escuro").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.get_by_label("Mais contraste").check()
    page.goto("/hub/nothing")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nada aqui")
    root = "document.documentElement.dataset"
    assert (page.evaluate(f"{root}.theme"), page.evaluate(f"{root}.contrast")) == ("dark", "more")


def test_the_sign_in_page_shows_the_preparation(page: Page, running: RunningSite) -> None:
    set_steps(running.store, running="minimal")
    try:
        page.goto("/hub/login")
        expect(page.locator("#preparation")).to_contain_text("step 3 of 4, building minimal", timeout=15_000)
        check(page, "login")
        clear_steps(running.store)
        expect(page.locator("#preparation")).to_be_hidden(timeout=15_000)
    finally:
        clear_steps(running.store)


def test_a_wrong_password(page: Page) -> None:
    page.goto("/hub/login")
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill("wrong-horse-battery")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not belong together")
    expect(page.get_by_label("Password")).to_be_focused()
    check(page, "login-wrong")


def test_the_site_page_and_a_failed_preparation(page: Page, running: RunningSite) -> None:
    sign_in(page, "admin")
    page.get_by_role("link", name="Site").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Site")
    check(page, "site")
    set_steps(running.store, failed="minimal", error="No space left on /var/lib/docker: 1.2 GiB free, 4.0 GiB needed.")
    try:
        page.reload()
        expect(page.locator("main")).to_contain_text("1.2 GiB free")
        check(page, "site-failed")
    finally:
        clear_steps(running.store)


@pytest.mark.parametrize(
    ("path", "name"),
    [("/hub/token", "token"), ("/hub/nothing", "hub-404"), ("/services/bancada/nothing", "console-404")],
)
def test_other_pages(page: Page, path: str, name: str) -> None:
    sign_in(page)
    page.goto(path)
    check(page, name)


def test_a_token_is_made_shown_once_and_revoked(page: Page) -> None:
    sign_in(page)
    page.goto("/hub/token")
    page.get_by_label("What it is for").fill("my script")
    page.get_by_role("button", name="Make a token").click()
    expect(page.locator("#token-value")).not_to_be_empty()
    page.reload()
    row = page.get_by_role("row", name="my script")
    row.get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)


def test_a_stopped_notebook_and_a_narrow_window(page: Page) -> None:
    sign_in(page)
    page.goto("/user/ana/optics/lab")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not running")
    check(page, "not-running")
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/services/bancada/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    check(page, "work-narrow")
