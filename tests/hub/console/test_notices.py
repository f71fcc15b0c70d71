"""Notices: shown on every page until dismissed, told by one of a person's servers, in their language."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from bancada_hub.console.server_api.notices import OFFER_S, Offers
from bancada_hub.errors import told
from bancada_hub.people.accounts import NewAccount, add_account, set_preferences
from bancada_hub.roles import Actor
from bancada_hub.store import notices, people, trace
from tests.hub.console.browser import check, sign_in
from tests.hub.console.running import PASSWORD, Browser, RunningSite, hidden, wait_until
from tests.hub.console.test_server_api import Server, token_of

WORDS = told("The project “%(project)s” is open again.", project="<b>Optics</b>")


def add(site: RunningSite, name: str, *texts: str) -> list[int]:
    with site.store.write() as session:
        person = people.find_person(session, name)
        assert person
        return [notices.add_notice(session, person.id, notices.NewNotice(text)).id for text in texts]


@pytest.fixture
def mia(running: RunningSite, request: pytest.FixtureRequest) -> str:
    """A person of this test alone, in optics and slow."""
    name = f"mia-{abs(hash(request.node.name)) % 10**6}"
    account = NewAccount(name, password=PASSWORD, project_slugs=("optics", "slow"), must_change=False)
    add_account(running.store, running.installation.site, Actor.command_line(), account)
    return name


def browser_of(running: RunningSite, name: str) -> Browser:
    browser = Browser(running)
    assert browser.sign_in(name).status_code == 200
    return browser


def notice(number: int) -> notices.Notice:
    return notices.Notice(number, 1, datetime.now(UTC), "info", "x", "", "", None)


def test_the_first_server_that_asks_has_a_notice_to_itself_for_a_while() -> None:
    offers, both = Offers(), [notice(1), notice(2)]
    assert offers.take(both[:1], "optics", 0.0) == both[:1]
    assert offers.take(both, "slow", 1.0) == both[1:], "only what the other was not given"
    assert offers.take(both, "optics", 2.0) == both[:1], "asked again, it is given again"
    assert offers.take(both, "slow", 3.0 + OFFER_S) == both, "the other went away without saying that it was seen"


def test_of_two_open_projects_one_tells_a_notice(running: RunningSite, mia: str) -> None:
    browser = browser_of(running, mia)
    (running.installation.places.data / "go").touch()
    try:
        for slug in ("optics", "slow"):
            browser.api("POST", f"projects/{slug}/start", json={})
        for slug in ("optics", "slow"):
            wait_until(
                lambda slug=slug: browser.api("GET", f"projects/{slug}/server").json()["state"] == "running", slug
            )
        servers = [Server(running, token_of(running, mia, slug)) for slug in ("optics", "slow")]
        number = add(running, mia, WORDS)[0]
        answers = [server.ask("GET", "/notices").json()["notices"] for server in servers]
        assert [[one["id"] for one in found] for found in answers] == [[number], []]
        assert servers[0].ask("POST", f"/notices/{number}/seen", json={}).status_code == 200
        assert [server.ask("GET", "/notices").json()["notices"] for server in servers] == [[], []]
        assert "Optics" not in browser.api("GET", "notices").text, "what JupyterLab showed is not told again"
    finally:
        (running.installation.places.data / "go").unlink()
        for slug in ("optics", "slow"):
            browser.api("DELETE", f"projects/{slug}/server")


def test_jupyterlab_and_pages_say_it_in_the_persons_language(running: RunningSite, mia: str) -> None:
    browser = browser_of(running, mia)
    with running.store.read() as session:
        person = people.find_person(session, mia)
    assert person
    set_preferences(running.store, Actor(person.id, mia, admin=False, origin="test"), "pt-BR", "")
    add(running, mia, WORDS)
    browser.api("POST", "projects/optics/start", json={})
    wait_until(lambda: browser.api("GET", "projects/optics/server").json()["state"] == "running", "optics runs")
    words = "O projeto “<b>Optics</b>” está aberto de novo."
    server = Server(running, token_of(running, mia, "optics"))
    assert [one["text"] for one in server.ask("GET", "/notices").json()["notices"]] == [words]
    assert [one["text"] for one in browser.api("GET", "notices").json()["notices"]] == [words]
    page = browser.get("/services/bancada/profile").text
    assert "O projeto “&lt;b&gt;Optics&lt;/b&gt;” está aberto de novo." in page
    browser.api("DELETE", "projects/optics/server")


def test_a_notice_is_dismissed_by_its_person_alone_and_that_is_written_down(running: RunningSite, mia: str) -> None:
    browser, other = browser_of(running, mia), browser_of(running, "rui")
    number = add(running, mia, "Read me.")[0]
    for wrong in (f"notices/{number}/seen", "notices/0/seen", "notices/x/seen", f"notices/{'9' * 30}/seen"):
        assert other.api("POST", wrong).status_code == 404
    assert [one["text"] for one in browser.api("GET", "notices").json()["notices"]] == ["Read me."]
    assert browser.api("POST", f"notices/{number}/seen").json() == {"seen": 1}
    assert browser.api("GET", "notices").json() == {"notices": []}
    with running.store.read() as session:
        rows = trace.audit_entries(session, trace.Filter(actor=mia, action="notice.seen"))
    assert [row.subject for row in rows] == [f"notice:{number}"]


def test_notices_are_dismissed_without_scripts_and_what_came_later_stays(running: RunningSite, mia: str) -> None:
    browser = browser_of(running, mia)
    add(running, mia, "one", "two", "three", "four", "five")
    page = browser.get("/services/bancada/gpus").text
    assert page.count("data-notice=") == 4
    assert "1 more follows" in page
    form = {"_xsrf": hidden(page, "_xsrf"), "up_to": hidden(page, "up_to")}
    assert browser.post("/services/bancada/api/notices/seen", data=form).url.endswith("/services/bancada/")
    assert [one["text"] for one in browser.api("GET", "notices").json()["notices"]] == ["five"]


@pytest.mark.browser
def test_a_notice_comes_to_an_open_page_and_goes_by_keyboard(page: Page, running: RunningSite, mia: str) -> None:
    sign_in(page, mia)
    expect(page.locator("[data-notice]")).to_have_count(0)
    add(running, mia, "The first.", "The second.")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("[data-notice]")).to_have_count(2)
    expect(page.locator("#notices")).to_have_attribute("aria-live", "polite")
    check(page, "notices")
    page.get_by_role("button", name="Dismiss", exact=True).first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-notice]")).to_have_count(1)
    expect(page.get_by_role("button", name="Dismiss", exact=True)).to_be_focused()
    add(running, mia, "The third.")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("[data-notice]")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(page.locator("[data-notice]")).to_have_count(1)
    page.reload()
    expect(page.locator("#notices")).to_contain_text("The third.")


@pytest.mark.browser
def test_who_follows_a_notices_way_has_seen_it(page: Page, running: RunningSite, mia: str) -> None:
    sign_in(page, mia)
    with running.store.write() as session:
        person = people.find_person(session, mia)
        assert person
        new = notices.NewNotice(WORDS, action_label=told("Go to Work"), action_url="/services/bancada/")
        notices.add_notice(session, person.id, new)
    page.goto("/services/bancada/storage")
    page.locator("#notices").get_by_role("link", name="Go to Work").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Work")
    page.reload()
    expect(page.locator("[data-notice]")).to_have_count(0)
