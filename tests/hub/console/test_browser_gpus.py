"""The page GPUs in a real Chromium: what administrators do with a card, by keyboard; instants in the reader's time."""

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, expect

from bancada_hub.errors import told
from bancada_hub.store import incidents, leases, servers
from bancada_hub.store.incidents import NewIncident
from tests.hub.console.browser import check, sign_in
from tests.hub.console.cards import seeing
from tests.hub.console.running import Browser, RunningSite
from tests.standin.nvml.driver import GIB, StandInDriver, card, uuid

pytestmark = pytest.mark.browser
GPUS = "/services/bancada/gpus"
BUSY = {"processes": [{"pid": 4711}], "memory": {"total": 80 * GIB, "used": 10 * GIB}}


@pytest.fixture(scope="module")
def driver(running: RunningSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInDriver]:
    part = {"uuid": "MIG-00000001-aaaa", "name": "MIG 3g.40gb", "memory": {"total": 40 * GIB, "used": GIB}}
    there = (card(0, **BUSY), card(1), card(2, mig_mode=1, mig=[part]), card(3, lost=True))
    with seeing(running, tmp_path_factory.mktemp("nvml"), *there) as made:
        yield made


def test_an_administrator_marks_a_card_by_keyboard(driver: StandInDriver, page: Page) -> None:
    assert driver.library.exists()
    sign_in(page, "admin")
    page.goto(GPUS)
    name = uuid(1)
    fold = page.get_by_label(f"Change the card {name}")
    fold.focus()
    page.keyboard.press("Enter")
    check(page, "gpus-change")
    page.keyboard.press("Tab")
    expect(page.locator(f"#why-{name}")).to_be_focused()
    page.keyboard.type("The fan is loud")
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_contain_text("The card is out of service")
    expect(page.locator("#said")).to_be_focused()
    expect(page.locator("main")).to_contain_text("The fan is loud")
    page.get_by_label(f"Change the card {name}").focus()
    page.keyboard.press("Enter")
    page.locator(f"#back-{name}").press("Enter")
    expect(page.locator("#said")).to_contain_text("The card is in service again.")
    page.get_by_label(f"Change the card {name}").click()
    page.locator(f"#tenants-{name}").fill("2")
    page.locator(f"#share-{name}").press("Enter")
    expect(page.locator("#said")).to_contain_text("no memory protection")
    page.get_by_label(f"Change the card {name}").click()
    page.locator(f"#whom-{name}").select_option(label="Optics")
    page.locator(f"#reserve-{name}").click()
    expect(page.locator("main")).to_contain_text("for Optics")
    check(page, "gpus-marked")


def test_incidents_and_what_needs_attention_in_the_readers_time(
    driver: StandInDriver, running: RunningSite, chromium: Chromium, ana: Browser
) -> None:
    """An instant is shown by the clock of whoever reads, here one in São Paulo: 3 hours behind UTC."""
    assert driver.library.exists()
    ana.api("POST", "projects/optics/gpu", json={"on_grant": "hold"})
    began_s = 1_796_126_400.0  # 2026-12-01 12:00 UTC
    with running.store.write() as session:
        ((lease, request),) = leases.live_leases(session)
        servers.claim(session, servers.NewServer("gone", request.person_id, request.project_id, "work", "s", GIB, 1.0))
        assert leases.claim_lease(session, lease.request_id, "gone", time.time())
        servers.release(session, "gone")
        new = NewIncident(uuid(0), "xid", told("The driver reported Xid %(xid)s: %(what)s.", xid=79, what="it fell"))
        number = incidents.open_incident(session, new, began_s, 0.0)[0].id
    context = chromium.new_context(base_url=running.url, locale="pt-BR", timezone_id="America/Sao_Paulo")
    page = context.new_page()
    try:
        sign_in_in_portuguese(page)
        page.goto(GPUS)
        table = page.get_by_role("region", name="Incidentes")
        expect(table).to_contain_text("Xid 79")
        row = table.locator("tr").filter(has=page.locator(f"#incident-{number}"))
        expect(row.locator("time[data-clock]")).to_have_attribute("datetime", "2026-12-01T12:00:00+00:00")
        expect(row.locator("time[data-clock]")).to_contain_text("09:00")
        check(page, "gpus-incidents-pt")
        page.get_by_label(f"O incidente {number} acabou").click()
        row.get_by_label("O que você encontrou").fill("Reiniciada")
        row.get_by_role("button", name="Dizer que está bem").click()
        expect(page.locator("#said")).to_contain_text("O incidente acabou")
    finally:
        context.close()
        with running.store.write() as session:
            leases.end_lease(session, lease.request_id, time.time())


def sign_in_in_portuguese(page: Page) -> None:
    page.goto("/")
    page.locator("input[name=username]").fill("admin")
    page.locator("input[name=password]").fill("correct-horse-battery")
    page.locator("form button[type=submit], form input[type=submit]").first.click()
    page.wait_for_url("**/services/bancada/**")
