"""Asking, cancelling and the queue's look: who may, what is put on record, who is told, when a card is free again."""

import time
from dataclasses import replace

import pytest

from bancada_hub.errors import Forbidden, LaunchRefused, NotFound, PeopleError
from bancada_hub.gpus import broker
from bancada_hub.gpus.asking import Asker, Asking, ask, ask_together, cancel
from bancada_hub.gpus.board import read_board
from bancada_hub.gpus.broker import Turn
from bancada_hub.gpus.cards import scheduling_cards
from bancada_hub.gpus.faults import is_free
from bancada_hub.gpus.inventory import Card, Instance, Inventory, SetAside
from bancada_hub.gpus.scheduling.rules import Rules
from bancada_hub.gpus.settling import WARNED_S, settle
from bancada_hub.store import leases, projects, servers
from bancada_hub.store.notices import unseen_notices
from bancada_hub.store.requests import RequestState
from tests.hub.domain import ROOT, Town, make_town

GIB = 2**30
IDLE = Card("GPU-0", 0, memory_bytes=24 * GIB, used_bytes=0, processes=())
TWO = Inventory((IDLE, replace(IDLE, uuid="GPU-1", index=1)))
LAB = broker.Lab(scheduling_cards(TWO), Rules())
ONE = {"cards": 1, "purpose": "interactive", "on_grant": "start"}


@pytest.fixture
def town(tmp_path):
    made = make_town(tmp_path / "d")
    made.quickly("bea", "gil")
    with made.store.write() as session:
        for name in ("bea", "gil"):
            projects.add_member(session, made.project("wheat").id, made.actor(name).person_id)
    yield made
    made.store.engine.dispose()


def asked(town: Town, name: str, what: dict[str, object] | None = None, now_s: float | None = None):
    return ask(town.store, town.actor(name), Asker(name, "wheat"), what or ONE, LAB, now_s or time.time())


def look(town: Town, inventory: Inventory = TWO, now_s: float | None = None):
    with town.store.write() as session:
        return settle(Turn(session), LAB, inventory, now_s or time.time())


def started(town: Town, request_id: int, start_id: str) -> None:
    """Do what a spawner does: take the grant in the transaction of the start."""
    with town.store.write() as session:
        row = next(request for lease, request in leases.live_leases(session) if lease.request_id == request_id)
        servers.claim(session, servers.NewServer(start_id, row.person_id, row.project_id, "work", "s", GIB, 1.0))
        assert leases.claim_lease(session, request_id, start_id, time.time())


def told(town: Town, name: str) -> list[str]:
    with town.store.read() as session:
        return [notice.text for notice in unseen_notices(session, town.actor(name).person_id)]


def test_who_asks_together_is_decided_about_together_and_one_refusal_is_nobody_elses(town):
    names = ("ana", "ana", "bea", "gil")
    asking = [Asking(town.actor(name), Asker(name, "wheat"), ONE) for name in names]
    first, again, second, third = ask_together(broker.Broker(town.store), asking, LAB, time.time())
    assert isinstance(again, PeopleError)
    assert "already" in again.what
    assert [each.state for each in (first, second, third)] == [
        RequestState.GRANTED,
        RequestState.GRANTED,
        RequestState.WAITING,
    ]
    assert [(row.actor, row.result) for row in reversed(town.audited(action="gpu.ask"))] == [
        ("ana", "done"),
        ("ana", "refused"),
        ("bea", "done"),
        ("gil", "done"),
    ]
    assert [told(town, name) for name in ("ana", "bea", "gil")] == [[], [], []], "each is answered, not notified"


def test_two_get_a_card_and_the_third_waits_and_is_next(town):
    assert [asked(town, name).state for name in ("ana", "bea")] == [RequestState.GRANTED] * 2
    third = asked(town, "gil")
    assert third.state is RequestState.WAITING
    with town.store.read() as session:
        board = read_board(session, LAB, town.actor("gil").person_id, time.time())
    assert (board.total, board.free, board.own_wait("wheat").place) == (2, 0, 1)
    assert {each.owner.person for each in board.holds} == {"ana", "bea"}, "of one's own project"
    assert board.own_wait("wheat").reason
    assert [(row.actor, row.result) for row in town.audited(action="gpu.ask")] == [
        ("gil", "done"),
        ("bea", "done"),
        ("ana", "done"),
    ]


def test_a_server_that_has_gone_gives_its_card_to_the_next(town):
    first, _, third = (asked(town, name) for name in ("ana", "bea", "gil"))
    assert [each.person for each in look(town).starts] == ["ana", "bea"]
    started(town, first.id, "start-1")
    assert [each.person for each in look(town).starts] == ["bea"]
    with town.store.write() as session:
        servers.release(session, "start-1")
    busy = Inventory((replace(IDLE, processes=(7,)), replace(IDLE, uuid="GPU-1", index=1, used_bytes=GIB)))
    assert look(town, busy).occupied == (first.id,), "a program is still on the card"
    todo = look(town)
    assert [each.request_id for each in todo.starts if each.person == "gil"] == [third.id]
    assert todo.moved
    assert any("it starts now" in text for text in told(town, "gil"))


def test_a_time_that_is_over_stops_the_server_and_is_told_once(town):
    first = asked(town, "ana", {**ONE, "hours": 1})
    started(town, first.id, "start-1")
    later = time.time() + 3 * 3600
    with town.store.write() as session:
        leases.move_lease(session, first.id, time.time() - 1, None)
    with town.store.write() as session:
        todo = settle(Turn(session), LAB, TWO, time.time())
        again = settle(Turn(session), LAB, TWO, time.time(), {each.request_id for each in todo.stops})
    assert [(each.person, each.project) for each in todo.stops] == [("ana", "wheat")]
    assert [each.request_id for each in again.stops] == [first.id], "until it has gone"
    assert len(told(town, "ana")) == 1
    assert later > time.time()


def test_one_request_for_each_server(town):
    asked(town, "ana")
    with pytest.raises(PeopleError, match="already have a GPU"):
        asked(town, "ana")
    asked(town, "bea")
    asked(town, "gil")
    with pytest.raises(PeopleError, match="already wait for a GPU in this project: request 3"):
        asked(town, "gil")


def test_a_grant_is_given_back_and_a_place_given_up_by_its_owner_or_a_lead_alone(town):
    first, second, third = (asked(town, name) for name in ("ana", "bea", "gil"))
    with pytest.raises(NotFound):
        cancel(town.store, town.actor("bea"), first.id, time.time())
    with pytest.raises(NotFound):
        cancel(town.store, town.actor("eva"), third.id, time.time())
    assert cancel(town.store, town.actor("ana"), first.id, time.time()).id == first.id
    with pytest.raises(NotFound, match="no request 1 that waits"):
        cancel(town.store, town.actor("ana"), first.id, time.time())
    look(town)
    assert cancel(town.store, town.actor("lia"), second.id, time.time()).id == second.id  # leads wheat
    started(town, third.id, "start-3")
    with pytest.raises(NotFound):  # a server has it: stopping that ends it
        cancel(town.store, town.actor("gil"), third.id, time.time())
    refused = [row for row in town.audited(action="gpu.cancel") if row.result == "refused"]
    assert len(refused) == 4


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({**ONE, "cards": 3}, "of that size can be had: 2"),
        ({**ONE, "cards": True}, "whole number"),
        ({**ONE, "cards": -1}, "whole number"),
        ({**ONE, "memory_gib": 25}, "No card has 25 GiB"),
        ({**ONE, "memory_gib": float("nan")}, "has to be a number"),
        ({**ONE, "hours": "8"}, "has to be a number"),
        ({**ONE, "purpose": "fun"}, "has to be one of"),
        ({**ONE, "card": "GPU-9"}, "There is no card"),
    ],
)
def test_what_can_never_be_had_is_refused_and_on_record(town, what, said):
    with pytest.raises(LaunchRefused, match=said):
        asked(town, "ana", what)
    (row,) = town.audited(action="gpu.ask")
    assert (row.actor, row.result) == ("ana", "refused")


def test_strangers_ask_for_nothing_and_nobody_for_others(town):
    with pytest.raises(NotFound):
        ask(town.store, town.actor("eva"), Asker("eva", "wheat"), ONE, LAB, time.time())
    with pytest.raises(Forbidden):
        ask(town.store, town.actor("ana"), Asker("bea", "wheat"), ONE, LAB, time.time())
    assert ask(town.store, ROOT, Asker("bea", "wheat"), ONE, LAB, time.time()).state is RequestState.GRANTED


def test_a_removed_member_loses_the_place_and_the_grant_is_not_started(town):
    """D12, and issue 5: a member removed while waiting and while holding."""
    asked(town, "ana")
    asked(town, "bea")
    asked(town, "gil")
    with town.store.write() as session:
        projects.drop_member(session, town.project("wheat").id, town.actor("gil").person_id)
    look(town)
    with town.store.read() as session:
        board = read_board(session, LAB, None, time.time())
    assert board.waits == ()


def test_a_card_is_free_only_when_it_was_seen_free():
    """D20: the container has gone and 10 GB are still on the card."""
    assert is_free(TWO, "GPU-0")
    assert not is_free(TWO, "GPU-7"), "one that is not seen"
    assert not is_free(Inventory((replace(IDLE, used_bytes=None),)), "GPU-0"), "one that does not say"
    assert not is_free(Inventory((replace(IDLE, used_bytes=10 * GIB),)), "GPU-0")
    assert not is_free(Inventory((replace(IDLE, processes=(7,)),)), "GPU-0")
    assert not is_free(Inventory((replace(IDLE, processes=None),)), "GPU-0")
    parts = (Instance("MIG-a", used_bytes=0), Instance("MIG-b", used_bytes=GIB))
    divided = replace(IDLE, mig=True, processes=None, instances=parts)
    assert is_free(Inventory((divided,)), "MIG-a")
    assert not is_free(Inventory((divided,)), "MIG-b")
    assert is_free(Inventory((divided,)), "MIG-gone"), "the driver takes none away that is in use"
    assert not is_free(Inventory((divided,), (SetAside(1, None, "It hangs"),)), "MIG-gone"), "unless not all is read"
    assert is_free(Inventory(source="simulated"), "GPU-0")


def test_a_holder_is_warned_once_before_the_end_and_again_when_the_end_moves(town):
    request = asked(town, "ana", what={**ONE, "hours": 4})
    started(town, request.id, "start-1")
    with town.store.read() as session:
        lease = next(lease for lease, _ in leases.live_leases(session))
    look(town, now_s=lease.ends_s - WARNED_S - 60)
    assert told(town, "ana") == []
    for _ in range(2):
        look(town, now_s=lease.ends_s - WARNED_S + 1)
    (said,) = told(town, "ana")
    assert said.endswith("its time is over in 30 min, and the server stops then. Save your work.")
    with town.store.write() as session:
        leases.move_lease(session, request.id, lease.ends_s + 3600, None)
    look(town, now_s=lease.ends_s)
    assert len(told(town, "ana")) == 1, "the end is an hour away again"
    look(town, now_s=lease.ends_s + 3600 - 60)
    assert len(told(town, "ana")) == 2
