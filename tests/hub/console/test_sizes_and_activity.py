"""What a card of Work offers and tells: sizes with the reason of those that do not fit, and what runs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import update

from bancada.contract import Activity, KernelActivity
from bancada_hub.console.activity import describe
from bancada_hub.console.handlers.work import chosen_size
from bancada_hub.console.server_api.reports import KEPT_FOR, STALE_AFTER, Report, Reports
from bancada_hub.errors import told
from bancada_hub.launch.admission import NoRoom
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.room import Offer, Offers, sizes_here
from bancada_hub.store import people, projects, servers
from bancada_hub.store.models import ProjectRow
from bancada_hub.ui.language import words
from tests.hub.console.browser import check, sign_in
from tests.hub.console.running import Browser, RunningSite, wait_until

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
ENGLISH, PORTUGUESE = words("en"), words("pt_BR")


def report(age_s: float = 0, *, kernels: int = 0, busy: int = 0, terminals: int = 0) -> Report:
    then = NOW - timedelta(seconds=180)
    ran = tuple(KernelActivity(number < busy, then) for number in range(kernels))
    return Report(NOW - timedelta(seconds=age_s), Activity(ran, (then,) * terminals))


@pytest.mark.parametrize(
    ("given", "words_of_it"),
    [
        (report(kernels=2, busy=1), "2 notebooks, 1 computing"),
        (report(kernels=1, terminals=2), "1 notebook, none computing, 2 terminals · active 3 min ago"),
        (report(), "No notebook is open"),
    ],
)
def test_what_runs_is_said_in_numbers(given: Report, words_of_it: str) -> None:
    """Case D5: a kernel that computes without a word is at work, however long ago it last said something."""
    shown = describe(given, NOW, ENGLISH)
    assert (shown.text, shown.known, shown.at) == (words_of_it, True, NOW)


def test_what_was_not_reported_is_unknown_and_never_nothing() -> None:
    shown = describe(None, NOW, ENGLISH)
    assert (shown.text, shown.known) == ("Activity unknown: it has not reported yet", False)


def test_an_old_report_is_shown_as_the_past_that_it_is() -> None:
    shown = describe(report(720, kernels=2, busy=1), NOW, ENGLISH)
    assert shown.text == "Activity unknown: the last report came 12 min ago (2 notebooks, 1 computing)"
    assert not shown.known
    assert describe(report(720), NOW, PORTUGUESE).text.startswith(
        "Atividade desconhecida: o último relato foi há 12 min"
    )


def test_reports_of_an_earlier_server_do_not_speak_for_this_one() -> None:
    reports = Reports()
    before = datetime.now(UTC)
    reports.take("ana", "optics", Activity())
    assert reports.latest("ana", "optics", before)
    assert reports.latest("ana", "optics", datetime.now(UTC)) is None
    assert reports.latest("ana", "slow", None) is None
    assert STALE_AFTER < KEPT_FOR


FULL = NoRoom(told("No room."), told("Wait."), Reason.NO_ROOM)


@pytest.mark.parametrize(
    ("fit", "before", "chosen"),
    [("sml", "m", "m"), ("sml", "l", "l"), ("sm", "l", "m"), ("s", "l", "s"), ("", "m", ""), ("ml", "s", "m")],
)
def test_the_size_of_the_start_before_is_chosen_or_what_fits(fit: str, before: str, chosen: str) -> None:
    offered = tuple(Offer(size, 2**30, 1.0, None if size in fit else FULL) for size in ("s", "m", "l"))
    assert chosen_size(Offers(offered, before)) == chosen  # type: ignore[arg-type]


def test_an_archived_project_has_none() -> None:
    assert chosen_size(None) == ""


@pytest.fixture
def narrow(running: RunningSite) -> Iterator[None]:
    """The project optics may hold a server of size S and no larger one."""
    most = sizes_here(running.installation.site).s.memory_bytes

    def set_to(value: int | None) -> None:
        with running.store.write() as session:
            session.execute(update(ProjectRow).where(ProjectRow.slug == "optics").values(max_memory_bytes=value))

    set_to(most)
    yield
    set_to(None)


@pytest.mark.browser
@pytest.mark.usefixtures("narrow")
def test_a_size_that_does_not_fit_cannot_be_chosen_and_says_why(page: Page) -> None:
    sign_in(page)
    card = page.locator("#project-optics")
    size = card.get_by_label("Size")
    expect(size).to_have_value("s")
    assert size.locator("option:disabled").all_inner_texts() == [
        text for text in size.locator("option").all_inner_texts() if text[0] in "ML"
    ]
    card.get_by_text("Why size L cannot start now").click()
    expect(card).to_contain_text("Choose size S, which fits now.")
    check(page, "work-sizes")


@pytest.mark.browser
def test_a_choice_survives_what_the_page_learns_meanwhile(page: Page, running: RunningSite) -> None:
    sign_in(page)
    size = page.locator("#size-optics")
    size.select_option("s")
    with running.store.write() as session:
        session.execute(update(ProjectRow).where(ProjectRow.slug == "optics").values(title="Optics two"))
    try:
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator("#project-optics h2")).to_have_text("Optics two")
        expect(size).to_have_value("s")
        with page.expect_request("**/projects/optics/start") as asked:
            page.locator("#start-optics").click()
        assert "size=s" in (asked.value.post_data or "")
    finally:
        with running.store.write() as session:
            session.execute(update(ProjectRow).where(ProjectRow.slug == "optics").values(title="Optics"))
        page.locator("#stop-optics").click(timeout=30_000)
        page.locator("#start-optics").wait_for(timeout=30_000)


@pytest.mark.usefixtures("narrow")
def test_the_rest_has_sizes_and_refuses_one_that_does_not_fit(ana: Browser) -> None:
    """Case D3: what the page would not let be chosen is refused in the REST too."""
    optics = next(each for each in ana.api("GET", "projects").json()["projects"] if each["slug"] == "optics")
    assert [(each["size"], each["fits"]) for each in optics["sizes"]] == [("s", True), ("m", False), ("l", False)]
    assert optics["sizes"][0]["message"] == ""
    refused = ana.api("POST", "projects/optics/start", json={"size": "l"})
    assert refused.status_code == 409
    assert refused.json()["message"] == optics["sizes"][2]["message"]
    assert ana.api("POST", "projects/optics/start", json={"size": "xl"}).status_code == 400


def test_a_card_shows_what_its_server_holds_and_the_size_is_remembered(ana: Browser, running: RunningSite) -> None:
    with running.store.write() as session:
        person, project = people.find_person(session, "ana"), projects.find_project(session, "optics")
        assert person
        assert project
        servers.claim(session, servers.NewServer("start-1", person.id, project.id, "work", "l", 3 * 2**30, 1.5))
    try:
        ana.api("POST", "projects/optics/start", json={})
        wait_until(lambda: ana.api("GET", "projects/optics/server").json()["state"] == "running", "optics runs")
        page = ana.get("/services/bancada/").text.split('id="project-optics"')[1].split("</section>")[0]
        assert "L: 3.0 GiB, 1.5 cores" in page
        assert "Activity unknown: it has not reported yet" in page
        found = ana.api("GET", "projects").json()["projects"]
        assert next(each["usual_size"] for each in found if each["slug"] == "optics") == "l"
    finally:
        with running.store.write() as session:
            servers.release(session, "start-1")
        ana.api("DELETE", "projects/optics/server")
        wait_until(lambda: ana.api("GET", "projects/optics/server").json()["state"] == "stopped", "optics is stopped")
