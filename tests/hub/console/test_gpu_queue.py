"""The GPU queue at a real hub and console, over a stand-in for the driver's library with two cards."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete

from bancada_hub.people.accounts import NewAccount, add_account, disable_account
from bancada_hub.roles import Actor
from bancada_hub.store import leases
from bancada_hub.store.models import NoticeRow
from bancada_hub.store.trace import Filter, audit_entries
from tests.hub.console.cards import seeing
from tests.hub.console.running import PASSWORD, Browser, RunningSite, wait_until
from tests.standin.nvml.driver import card, uuid


@pytest.fixture(scope="module")
def two_cards(running: RunningSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    """The site with a console that sees two idle cards; without any again afterwards."""
    with seeing(running, tmp_path_factory.mktemp("nvml"), card(0), card(1)):
        yield running
    with running.store.write() as session:
        session.execute(delete(NoticeRow))  # other modules' people have none


def signed_in(site: RunningSite, name: str) -> Browser:
    browser = Browser(site)
    assert browser.sign_in(name).status_code == 200
    return browser


def end_all(site: RunningSite) -> None:
    """End every lease and request: the servers of these tests only say hello, and hold nothing."""
    with site.store.write() as session:
        for lease, _ in leases.live_leases(session):
            leases.end_lease(session, lease.request_id, lease.granted_s)


def state(browser: Browser, slug: str) -> str:
    found: str = browser.api("GET", f"projects/{slug}/server").json()["state"]
    return found


def test_two_start_with_a_card_and_the_third_waits_sees_why_and_starts_by_itself(two_cards: RunningSite) -> None:
    ana, bia, leo = (signed_in(two_cards, name) for name in ("ana", "bia", "leo"))
    work = ana.get("/services/bancada/").text
    assert "1 GPU (2 of 2 free)" in work
    try:
        asked = ana.api("POST", "projects/optics/start", json={"gpu": "1", "size": "s"})
        assert (asked.status_code, asked.json()["state"]) == (202, "starting")
        held = bia.api("POST", "projects/optics/gpu", json={"on_grant": "hold"}).json()
        assert held["granted"]
        own = next(slug["slug"] for slug in leo.api("GET", "projects").json()["projects"] if slug["personal"])
        waiting = leo.api("POST", f"projects/{own}/start", json={"gpu": "1"})
        assert waiting.json() == {"project": own, "state": "waiting"}
        queue = leo.api("GET", "queue").json()
        assert (queue["total"], queue["free"], len(queue["holds"])) == (2, 0, 2)
        (mine,) = queue["waits"]
        assert (mine["person"], mine["place"], mine["cards"]) == ("leo", 1, 1)
        assert mine["reason"]
        page = leo.get("/services/bancada/").text
        assert "You wait for a GPU: place 1." in page
        assert "Start now without a GPU" in page
        assert state(leo, own) == "stopped"
        gpus = leo.get("/services/bancada/gpus").text
        assert all(uuid(number) in gpus for number in range(2))
        assert "until" in gpus
        assert bia.api("POST", f"queue/{held['request']}/cancel").status_code == 200
        wait_until(lambda: state(leo, own) == "running", "leo's server started by itself")
        with two_cards.store.read() as session:
            row = audit_entries(session, Filter(action="server.start", actor="leo", limit=1))[0]
        assert (row.origin, row.result) == ("gpu queue", "done")
        assert "it starts now" in leo.get("/services/bancada/").text
    finally:
        end_all(two_cards)
        for browser, slug in ((ana, "optics"), (leo, own)):
            browser.api("DELETE", f"projects/{slug}/server")


def test_the_same_in_portuguese(two_cards: RunningSite) -> None:
    ana = signed_in(two_cards, "ana")
    ana.headers["Accept-Language"] = "pt-BR"
    assert "(2 de 2 livres)" in ana.get("/services/bancada/").text
    assert "Ninguém está esperando." in ana.get("/services/bancada/gpus").text
    refused = ana.api("POST", "projects/optics/gpu", json={"cards": 3})
    assert refused.status_code == 409, refused.text


@pytest.mark.parametrize(
    "body",
    [{"cards": 0}, {"cards": -1}, {"cards": True}, {"cards": "1"}, {"cards": 1e9}, {"memory_gib": 999}, {"hours": -2}],
)
def test_what_cannot_be_had_is_refused_in_words(two_cards: RunningSite, body: dict[str, object]) -> None:
    reply = signed_in(two_cards, "ana").api("POST", "projects/optics/gpu", json=body)
    assert reply.status_code in {400, 409}, reply.text
    assert reply.json()["message"]


def test_nobody_asks_in_a_project_of_others_nor_cancels_what_is_not_theirs(two_cards: RunningSite) -> None:
    rui, ana = signed_in(two_cards, "rui"), signed_in(two_cards, "ana")
    assert rui.api("POST", "projects/optics/gpu", json={}).status_code == 404
    held = ana.api("POST", "projects/optics/gpu", json={"on_grant": "hold"}).json()
    try:
        assert rui.api("POST", f"queue/{held['request']}/cancel").status_code == 404
        theirs = rui.api("GET", "queue").json()["holds"]
        assert [(each["person"], each["project"]) for each in theirs] == [("", "")], "whose it is stays theirs"
        assert ana.api("POST", f"queue/{held['request']}/cancel").status_code == 200
        assert ana.api("POST", f"queue/{held['request']}/cancel").status_code == 404
        assert ana.api("POST", "queue/99999999999999999999/cancel").status_code == 404
    finally:
        end_all(two_cards)


def personal(browser: Browser) -> str:
    return next(each["slug"] for each in browser.api("GET", "projects").json()["projects"] if each["personal"])


def test_hub_and_console_killed_while_one_waits_lose_nothing(two_cards: RunningSite) -> None:
    """D17, D20: who holds and who waits is in the database; what comes free goes to whoever waited, by itself."""
    ana, bia, leo = (signed_in(two_cards, name) for name in ("ana", "bia", "leo"))
    own = personal(leo)
    try:
        assert ana.api("POST", "projects/optics/start", json={"gpu": "1", "size": "s"}).status_code == 202
        held = bia.api("POST", "projects/optics/gpu", json={"on_grant": "hold"}).json()["request"]
        assert leo.api("POST", f"projects/{own}/start", json={"gpu": "1"}).json()["state"] == "waiting"
        before = leo.api("GET", "queue").json()
        for name in ("console", "hub"):
            two_cards.end(name, signal.SIGKILL)
        two_cards.start("hub")
        two_cards.start("console")
        after = leo.api("GET", "queue").json()
        assert [each["request"] for each in after["holds"]] == [each["request"] for each in before["holds"]]
        assert [(each["request"], each["place"]) for each in after["waits"]] == [
            (each["request"], each["place"]) for each in before["waits"]
        ]
        assert bia.api("POST", f"queue/{held}/cancel").status_code == 200
        wait_until(lambda: state(leo, own) == "running", "leo's server started by itself")
    finally:
        end_all(two_cards)
        for browser, slug in ((ana, "optics"), (leo, own)):
            browser.api("DELETE", f"projects/{slug}/server")
            wait_until(lambda browser=browser, slug=slug: state(browser, slug) == "stopped", "it stopped")


def test_who_is_switched_off_while_waiting_is_not_started_and_an_expired_login_is_no_hindrance(
    two_cards: RunningSite,
) -> None:
    """The console starts a granted server with its own token: no login of the person's is asked for."""
    ana, bia, leo = (signed_in(two_cards, name) for name in ("ana", "bia", "leo"))
    account = NewAccount("gone", password=PASSWORD, must_change=False)
    add_account(two_cards.store, two_cards.installation.site, Actor.command_line(), account)
    gone = signed_in(two_cards, "gone")
    slugs = {"leo": personal(leo), "gone": personal(gone)}
    try:
        held = [
            browser.api("POST", "projects/optics/gpu", json={"on_grant": "hold"}).json()["request"]
            for browser in (ana, bia)
        ]
        for browser, name in ((gone, "gone"), (leo, "leo")):
            waiting = browser.api("POST", f"projects/{slugs[name]}/start", json={"gpu": "1"}).json()
            assert waiting["state"] == "waiting"
        disable_account(two_cards.store, Actor.command_line(), "gone")
        leo.cookies.clear()  # as a login that has expired
        for browser, number in zip((ana, bia), held, strict=True):
            assert browser.api("POST", f"queue/{number}/cancel").status_code == 200
        again = signed_in(two_cards, "leo")
        wait_until(lambda: state(again, slugs["leo"]) == "running", "leo's server started by itself")
        with two_cards.store.read() as session:
            rows = audit_entries(session, Filter(action="server.start", actor="gone"))
        assert [row for row in rows if row.result == "done"] == []
        assert [each["person"] for each in signed_in(two_cards, "admin").api("GET", "queue").json()["waits"]] == []
        again.api("DELETE", f"projects/{slugs['leo']}/server")
    finally:
        end_all(two_cards)


def test_a_member_removed_while_waiting_or_holding_keeps_no_card(two_cards: RunningSite) -> None:
    ana, bia, leo, lead = (signed_in(two_cards, name) for name in ("ana", "bia", "leo", "leo"))
    try:
        held = ana.api("POST", "projects/slow/gpu", json={"on_grant": "hold"}).json()
        assert held["granted"]
        assert bia.api("POST", "projects/optics/gpu", json={"on_grant": "hold"}).json()["granted"]
        assert not ana.api("POST", "projects/broken/gpu", json={"on_grant": "hold"}).json()["granted"]
        for slug in ("slow", "broken"):
            assert lead.api("POST", f"projects/{slug}/members/ana/remove", json={}).status_code == 200
        queue = lambda: signed_in(two_cards, "admin").api("GET", "queue").json()  # noqa: E731
        wait_until(lambda: [each["person"] for each in queue()["holds"]] == ["bia"], "ana's grant has passed on")
        assert queue()["waits"] == []
        assert leo.api("GET", "queue").json()["free"] == 1
    finally:
        end_all(two_cards)
        for slug in ("slow", "broken"):
            assert lead.api("POST", f"projects/{slug}/members", json={"name": "ana"}).status_code == 200


def test_a_part_of_a_card_is_offered_on_work_and_started_with(running: RunningSite, tmp_path: Path) -> None:
    parts = [
        {"uuid": f"MIG-{number}1111111-aaaa", "name": "MIG 1g.10gb", "memory": {"total": 10 * 2**30, "used": 0}}
        for number in range(2)
    ]
    with seeing(running, tmp_path, card(0, mig_mode=1, utilization=0, mig=parts)):
        ana = signed_in(running, "ana")
        page = ana.get("/services/bancada/").text
        assert '<option value="part:1g.10gb">Part of a GPU: 1g.10gb (2 of 2 free)</option>' in page
        try:
            assert ana.api("POST", "projects/optics/start", json={"gpu": "part:9g.90gb"}).status_code == 409
            asked = ana.api("POST", "projects/optics/start", json={"gpu": "part:1g.10gb"})
            assert (asked.status_code, asked.json()["state"]) == (202, "starting")
            (holds,) = ana.api("GET", "queue").json()["holds"]
            assert holds["cards"][0].startswith("MIG-")
        finally:
            end_all(running)
            ana.api("DELETE", "projects/optics/server")


@pytest.mark.parametrize("gpu", ["0", "9", "-1", "1.5", "²", "part:", "all", "yes", "1" * 5000])
def test_a_choice_of_gpus_that_is_none_is_refused(ana: Browser, gpu: str) -> None:
    reply = ana.api("POST", "projects/optics/start", json={"gpu": gpu})
    assert reply.status_code == 400
    assert "The field “gpu” can be" in reply.json()["message"]


def test_who_started_without_a_gpu_meanwhile_is_told_how_to_move_to_it(two_cards: RunningSite) -> None:
    ana, bia, leo = (signed_in(two_cards, name) for name in ("ana", "bia", "leo"))
    own = personal(leo)
    try:
        ask = {"on_grant": "hold"}
        held = [each.api("POST", "projects/optics/gpu", json=ask).json()["request"] for each in (ana, bia)]
        assert leo.api("POST", f"projects/{own}/start", json={"gpu": "1"}).json()["state"] == "waiting"
        assert leo.api("POST", f"projects/{own}/start", json={"gpu": "no"}).json()["state"] == "starting"
        wait_until(lambda: state(leo, own) == "running", "leo works without one")
        for browser, number in zip((ana, bia), held, strict=True):
            assert browser.api("POST", f"queue/{number}/cancel").status_code == 200
        wait_until(lambda: "To move to its GPU, save, stop and start." in leo.api("GET", "notices").text, "it is told")
        page = leo.get("/services/bancada/").text
        assert "To move to it, save, stop and start." in page
    finally:
        end_all(two_cards)
        leo.api("DELETE", f"projects/{own}/server")
        wait_until(lambda: state(leo, own) == "stopped", "it stopped")
