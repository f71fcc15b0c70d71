"""Figures for Prometheus: who may read them, that they are right, and that a thousand people add none."""

import time

from prometheus_client.parser import text_string_to_metric_families

from bancada_hub.console.metrics import Metrics, count
from bancada_hub.gpus import broker
from bancada_hub.gpus.cards import scheduling_cards
from bancada_hub.gpus.scheduling.rules import Purpose, Rules
from bancada_hub.gpus.scheduling.values import OnGrant, Shape
from bancada_hub.gpus.simulated import simulated_inventory
from bancada_hub.store import people, projects
from tests.hub.console.running import Browser, RunningSite
from tests.hub.domain import make_town

LAB = broker.Lab(scheduling_cards(simulated_inventory(2)), Rules())


def figures(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_they_say_what_is_there_and_their_number_does_not_grow_with_people(tmp_path) -> None:
    town, now_s = make_town(tmp_path / "d"), time.time()
    with town.store.read() as session:
        before = figures(Metrics().text(count(session, LAB, now_s)).decode())
    first = people.FirstNumbers(3_000_000, 3_000_000)
    with town.store.write() as session:
        wheat = projects.find_project(session, "wheat")
        assert wheat
        for number in range(1000):
            person = people.add_person(session, f"p{number}", None, admin=False, first=first)
            projects.add_member(session, wheat.id, person.id)
            shape = Shape(purpose=list(Purpose)[number % len(Purpose)])
            broker.ask(session, (wheat.id, person.id), shape, OnGrant.HOLD, now_s - number)
        broker.decide(session, LAB, now_s)
    metrics = Metrics()
    with metrics.deciding(), town.store.read() as session:
        after = figures(metrics.text(count(session, LAB, now_s)).decode())
    town.store.engine.dispose()
    assert before.keys() == after.keys()
    assert (after["bancada_gpu_cards", "held"], after["bancada_gpu_cards", "free"]) == (2, 0)
    assert sum(value for key, value in after.items() if key[0] == "bancada_gpu_requests_waiting") == 998
    assert after["bancada_gpu_leases", "to be claimed"] == 2
    assert after["bancada_gpu_requests_closed", "granted"] == 2
    assert after["bancada_gpu_oldest_wait_seconds",] >= 900
    names = {part for key in after for part in key}
    assert not [name for name in names if name.startswith(("p1", "wheat"))]


def test_only_administrators_read_them(running: RunningSite, ana: Browser) -> None:
    assert ana.get("/services/bancada/metrics").status_code == 404
    admin = Browser(running)
    admin.sign_in("admin")
    answer = admin.get("/services/bancada/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert ("bancada_gpu_decision_seconds_count",) in figures(answer.text)
