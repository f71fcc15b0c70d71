"""Cards that fail, and marks of cards, at a running console over the stand-in driver: page, REST, notices, Work."""

import signal
import time
from collections.abc import Iterator

import pytest

from bancada_hub.store import leases, servers
from bancada_hub.store.trace import Filter, audit_entries
from tests.hub.console.cards import seeing
from tests.hub.console.running import Browser, RunningSite, wait_until
from tests.standin.nvml.driver import GIB, StandInDriver, card, scenario, uuid

NOTICED_WITHIN_S = 60.0
PAGE = "/services/bancada/gpus"


@pytest.fixture(scope="module")
def driver(running: RunningSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInDriver]:
    """The driver of two idle cards that the site's console sees."""
    with seeing(running, tmp_path_factory.mktemp("nvml"), card(0), card(1)) as made:
        yield made


@pytest.fixture(scope="module")
def admin(running: RunningSite) -> Browser:
    browser = Browser(running)
    assert browser.sign_in("admin").status_code == 200
    return browser


def lasting(admin: Browser) -> list[dict[str, object]]:
    found = admin.api("GET", "gpus/incidents").json()["incidents"]
    return [each for each in found if each["until"] is None]


def end_all(site: RunningSite) -> None:
    with site.store.write() as session:
        for lease, _ in leases.live_leases(session):
            leases.end_lease(session, lease.request_id, time.time())
        servers.release(session, "start-x")


def claimed(site: RunningSite, browser: Browser) -> tuple[str, ...]:
    """Let a person's server hold a card, as a spawner does; those of this site only say hello."""
    asked = browser.api("POST", "projects/optics/gpu", json={"on_grant": "hold"}).json()
    assert asked["granted"]
    with site.store.write() as session:
        ((lease, request),) = leases.live_leases(session)
        new = servers.NewServer("start-x", request.person_id, request.project_id, "work", "s", GIB, 1.0)
        servers.claim(session, new)
        assert leases.claim_lease(session, lease.request_id, new.start_id, time.time())
    return lease.cards


def of_card(browser: Browser, name: str) -> dict[str, object]:
    return next(each for each in browser.api("GET", "gpus").json()["cards"] if each["uuid"] == name)


def test_a_card_that_fails_is_noticed_within_a_minute_by_whom_it_concerns(
    driver: StandInDriver, running: RunningSite, admin: Browser, ana: Browser
) -> None:
    """B9: lost while a server holds it; its holder reads what to do on Work and GPUs, administrators what happened."""
    try:
        assert ana.api("POST", "projects/optics/start", json={"gpu": "no", "size": "s"}).status_code == 202
        wait_until(lambda: ana.api("GET", "projects/optics/server").json()["state"] == "running", "it runs")
        (mine,) = claimed(running, ana)
        number = 0 if mine == uuid(0) else 1
        driver.write(scenario(*(card(each, lost=each == number) for each in range(2))))
        wait_until(lambda: lasting(admin), "the loss is noticed", NOTICED_WITHIN_S)
        (incident,) = lasting(admin)
        assert (incident["card"], incident["cause"]) == (mine, "lost")
        assert incident["held"] == [{"person": "ana", "project": "Optics"}]
        assert "Restart the machine" in str(incident["fix"])
        running.end("console", signal.SIGKILL)  # whatever it was doing, the rows have it, once
        running.start("console")
        assert not of_card(ana, mine)["answers"]
        assert lasting(admin) == [incident]
        assert "stop the project and start it again" in ana.api("GET", "queue").json()["holds"][0]["trouble"]
        for address in ("/services/bancada/", PAGE):
            assert "This card fell off the bus" in ana.get(address).text
        for address in ("/services/bancada/", "/services/bancada/site"):
            assert "This card fell off the bus" in admin.get(address).text
        ana.headers["Accept-Language"] = "pt-BR"
        assert "Esta placa caiu do barramento" in ana.get("/services/bancada/").text
        ana.headers["Accept-Language"] = "en"
        driver.write(scenario(card(0), card(1)))
        wait_until(lambda: not lasting(admin), "the recovery is noticed", NOTICED_WITHIN_S)
        assert "is well again" in admin.get(PAGE).text
        told = [each["text"] for each in admin.api("GET", "notices").json()["notices"]]
        assert sum(mine[:12] in text and "fell off the bus" in text for text in told) == 1
    finally:
        driver.write(scenario(card(0), card(1)))
        ana.api("DELETE", "projects/optics/server")
        end_all(running)


def test_marks_of_a_card_by_rest_and_form(
    driver: StandInDriver, running: RunningSite, admin: Browser, ana: Browser
) -> None:
    for _ in range(2):  # doing it twice does no harm
        done = admin.api("POST", f"gpus/{uuid(0)}/out", json={"reason": "The fan <b>is</b> loud"})
        assert (done.status_code, done.json()["held"]) == (200, 0)
    assert of_card(ana, uuid(0))["out"]
    page = ana.get(PAGE).text
    assert "The fan &lt;b&gt;is&lt;/b&gt; loud" in page
    assert "Take out of service" not in page, "for administrators"
    assert "(1 of 1 free)" in ana.get("/services/bancada/").text
    assert admin.api("POST", f"gpus/{uuid(0)}/back", json={}).status_code == 200
    assert admin.api("POST", f"gpus/{uuid(0)}/share", json={"tenants": 3}).status_code == 200
    for address in ("/services/bancada/", PAGE):
        assert "no memory protection" in ana.get(address).text
    said = ana.api("POST", "projects/optics/gpu", json={"shared": True, "on_grant": "hold"}).json()
    assert said["granted"]
    assert "no memory protection" in said["message"]
    assert "3 of 3" not in ana.get("/services/bancada/").text
    refused = admin.api("POST", f"gpus/{uuid(0)}/share", json={"tenants": 1})
    assert "only while nobody does" in refused.json()["message"]
    end_all(running)
    assert admin.api("POST", f"gpus/{uuid(0)}/share", json={"tenants": 1}).status_code == 200
    assert admin.api("POST", f"gpus/{uuid(0)}/reserve", json={"whom": "project:optics"}).status_code == 200
    assert of_card(ana, uuid(0))["reserved_for"] == "project:optics"
    rui = Browser(running)
    rui.sign_in("rui")
    assert (of_card(rui, uuid(0))["reserved"], of_card(rui, uuid(0))["reserved_for"]) == (True, "")
    assert admin.api("POST", f"gpus/{uuid(0)}/reserve", json={"whom": ""}).status_code == 200
    with running.store.read() as session:
        rows = audit_entries(session, Filter(subject=f"gpu:{uuid(0)}"))
    assert {row.action for row in rows} == {"gpu.out", "gpu.back", "gpu.share", "gpu.reserve"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (f"gpus/{uuid(0)}/out", {"reason": ""}, 409),
        (f"gpus/{uuid(0)}/out", {}, 400),
        (f"gpus/{uuid(0)}/share", {"tenants": 0}, 409),
        (f"gpus/{uuid(0)}/share", {"tenants": 99}, 409),
        (f"gpus/{uuid(0)}/share", {"tenants": "2"}, 400),
        (f"gpus/{uuid(0)}/reserve", {"whom": "project:nowhere"}, 404),
        (f"gpus/{uuid(0)}/reserve", {"whom": "everybody"}, 404),
        (f"gpus/{uuid(0)}/forget", {}, 409),
        ("gpus/0/out", {"reason": "x"}, 404),
        ("gpus/GPU-gone/out", {"reason": "x"}, 404),
        ("gpus/incidents/999/well", {"reason": "x"}, 404),
        ("gpus/incidents/x/well", {"reason": "x"}, 404),
        ("queue/999/free", {"reason": "x"}, 404),
        ("queue/9999999999999999999/free", {"reason": "x"}, 404),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    driver: StandInDriver, admin: Browser, path: str, body: dict[str, object], status: int
) -> None:
    assert driver.library.exists()
    reply = admin.api("POST", path, json=body)
    assert (reply.status_code, bool(reply.json()["message"])) == (status, True), reply.text


def test_a_card_with_something_left_on_it_is_freed_after_a_look(
    driver: StandInDriver, running: RunningSite, admin: Browser, ana: Browser
) -> None:
    """D20: 10 GB are left on the card when its server has gone."""
    cards = claimed(running, ana)
    with running.store.write() as session:
        servers.release(session, "start-x")
    busy = {"processes": [{"pid": 4711}], "memory": {"total": 80 * GIB, "used": 10 * GIB}}
    driver.write(scenario(*(card(each, **(busy if uuid(each) in cards else {})) for each in range(2))))
    try:
        (attention,) = admin.api("GET", "gpus/incidents").json()["attention"]
        assert attention["seen"] == ["processes 4711, 10240 MiB of memory"]
        assert "Needs attention" in admin.get(PAGE).text
        assert "Free the card" not in ana.get(PAGE).text
        freed = admin.api("POST", f"queue/{attention['request']}/free", json={"reason": "A zombie; killed"})
        assert freed.status_code == 200, freed.text
        assert ana.api("GET", "queue").json()["holds"] == []
    finally:
        driver.write(scenario(card(0), card(1)))
        end_all(running)
