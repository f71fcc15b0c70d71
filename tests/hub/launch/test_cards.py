"""Cards in a plan: by UUID, only with a grant, taken in the transaction of the start, and never twice."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bancada.contract import SIMULATED_CARDS_VARIABLE
from bancada_hub.errors import LaunchRefused
from bancada_hub.gpus import broker
from bancada_hub.gpus.scheduling.values import OnGrant, Shape
from bancada_hub.launch.choices import Choices
from bancada_hub.launch.container import create_body
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.environment import with_hub
from bancada_hub.launch.facts import read_facts
from bancada_hub.launch.plan import LaunchPlan, plan
from bancada_hub.launch.planned import claim
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store import catalog, leases, people, projects, servers
from bancada_hub.store.database import migrate, open_store
from tests.hub.gpus.asking import LAB
from tests.hub.launch.examples import facts
from tests.hub.launch.test_facts import BUILT

CARDS = ("GPU-a", "GPU-b")


def body(made: LaunchPlan) -> dict[str, object]:
    environment = with_hub(made.environment, {})
    host: dict[str, object] = create_body(made, "0" * 12, environment, "10.0.0.9")["HostConfig"]
    return host


def test_without_a_grant_a_server_sees_no_card() -> None:
    made = plan(facts(), Choices())
    assert dict(made.environment)["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert body(made)["DeviceRequests"] == []


def test_a_grant_is_asked_for_by_uuid() -> None:
    """B1: “one card” given as a number or a count is the first card for everybody."""
    made = plan(facts(cards=CARDS), Choices())
    assert made.resources.gpu_uuids == CARDS
    assert dict(made.environment)["NVIDIA_VISIBLE_DEVICES"] == "GPU-a,GPU-b"
    assert body(made)["DeviceRequests"] == [
        {"Driver": "nvidia", "DeviceIDs": ["GPU-a", "GPU-b"], "Capabilities": [["gpu"]]}
    ]


def test_simulated_cards_are_named_and_are_no_devices() -> None:
    made = plan(facts(cards=CARDS, simulated_cards=True), Choices())
    assert dict(made.environment)[SIMULATED_CARDS_VARIABLE] == "GPU-a,GPU-b"
    assert dict(made.environment)["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert body(made)["DeviceRequests"] == []


def test_who_starts_without_a_gpu_leaves_the_grant_alone() -> None:
    assert plan(facts(cards=CARDS), Choices(gpu="no")).resources.gpu_uuids == ()


@pytest.fixture
def context(tmp_path: Path) -> Iterator[LaunchContext]:
    """A site with ana in the project main, to whom a card was granted."""
    places, site = Places(tmp_path), Site()
    places.site.mkdir()
    migrate(site, places)
    made = LaunchContext("0123abcd", site, places, open_store(site, places), "unix:///nowhere", "bancada-0123abcd")
    with made.store.write() as session:
        first = people.FirstNumbers(2_000_000, 2_000_000)
        ana = people.add_person(session, "ana", None, admin=False, first=first)
        main = projects.add_project(session, "main", "Main", first_gid=2_000_000)
        projects.add_member(session, main.id, ana.id)
        catalog.put_image(session, "minimal", "Minimal", "")
        catalog.publish_revision(session, "minimal", BUILT)
        broker.ask(session, (main.id, ana.id), Shape(), OnGrant.HOLD, time.time())
        broker.decide(session, LAB, time.time())
    yield made
    made.store.engine.dispose()


def the_lease(context: LaunchContext) -> leases.StoredLease:
    with context.store.read() as session:
        (found,) = leases.live_leases(session)
    return found[0]


def test_a_start_takes_the_grant_and_no_other_start_does(context: LaunchContext) -> None:
    made = plan(read_facts(context, "ana", "main"), Choices())
    assert made.resources.gpu_uuids == the_lease(context).cards
    claim(context, made, "start-1")
    assert (the_lease(context).server, the_lease(context).claim_by_s) == ("start-1", None)
    assert plan(read_facts(context, "ana", "main"), Choices()).resources.gpu_uuids == ()
    with pytest.raises(LaunchRefused) as refused:  # two browsers claim one grant
        claim(context, made, "start-2")
    assert refused.value.reason == "gpu-gone"
    with context.store.read() as session:
        assert [row.start_id for row in servers.held(session)] == ["start-1"], "nothing of the second stays"


def test_a_grant_whose_window_has_closed_is_not_taken(context: LaunchContext) -> None:
    made = plan(read_facts(context, "ana", "main"), Choices())
    with context.store.write() as session:
        lease = the_lease(context)
        leases.move_lease(session, lease.request_id, lease.ends_s, time.time() - 1)
    with pytest.raises(LaunchRefused, match="given to somebody else"):
        claim(context, made, "start-1")
    assert read_facts(context, "ana", "main").cards == ()
