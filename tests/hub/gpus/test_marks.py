"""Marks of a card: out of service, shared, kept for a project or lab; who may, what is on record, who gets it then."""

import time
from dataclasses import replace

import pytest

from bancada_hub.errors import Forbidden, LaunchRefused, NotFound, PeopleError
from bancada_hub.gpus import broker, marks
from bancada_hub.gpus.asking import Asker, Asking, ask, ask_together
from bancada_hub.gpus.board import read_board
from bancada_hub.gpus.inventory import Card, Instance, Inventory
from bancada_hub.gpus.lab import read_lab
from bancada_hub.gpus.marks import Marking, Reserved
from bancada_hub.projects.projects import NewProject, create_project
from bancada_hub.store import leases, projects, trace
from bancada_hub.store.requests import RequestState
from tests.hub.domain import ROOT, Town, make_town

GIB = 2**30
FIRST = Card("GPU-00000000-aaaa", 0, model="Card of 24 GiB", memory_bytes=24 * GIB, used_bytes=0, processes=())
SECOND = replace(FIRST, uuid="GPU-11111111-bbbb", index=1)
PARTS = (Instance("MIG-33333333-1", "MIG 3g.12gb", 12 * GIB, 0), Instance("MIG-44444444-2", "MIG 3g.12gb", 12 * GIB, 0))
DIVIDED = replace(FIRST, uuid="GPU-22222222-cccc", index=2, mig=True, instances=PARTS)
TWO = Inventory((FIRST, SECOND))
ONE = {"cards": 1, "purpose": "interactive"}


@pytest.fixture
def town(tmp_path):
    made = make_town(tmp_path / "d")
    made.quickly("bea", "gil")
    with made.store.write() as session:
        for name in ("bea", "gil"):
            projects.add_member(session, made.project("wheat").id, made.actor(name).person_id)
    yield made
    made.store.engine.dispose()


def marking(card: str, reason: str = "It smells", found: Inventory = TWO, actor=ROOT) -> Marking:
    return Marking(actor, card, reason, found, time.time())


def lab(town: Town, found: Inventory = TWO) -> broker.Lab:
    with town.store.read() as session:
        return read_lab(session, found)


def asked(town: Town, name: str, found: Inventory = TWO, project: str = "wheat", **what: object):
    return ask(town.store, town.actor(name), Asker(name, project), {**ONE, **what}, lab(town, found), time.time())


def held(town: Town) -> dict[str, int]:
    with town.store.read() as session:
        return {uuid: lease.request_id for lease, _ in leases.live_leases(session) for uuid in lease.cards}


def test_a_card_out_of_service_stays_with_its_holder_and_goes_to_nobody_new(town):
    first = asked(town, "ana")
    marked = marks.take_out(town.store, marking(FIRST.uuid))
    assert (marked.card.mark.out, marked.held) == (True, 1)
    assert "keeps it until their lease ends" in marks.resulting(marked)
    assert held(town) == {FIRST.uuid: first.id}, "nobody is stopped"
    assert asked(town, "bea").state is RequestState.GRANTED
    assert asked(town, "gil").state is RequestState.WAITING
    with town.store.write() as session:
        broker.release(session, lab(town), first.id, time.time())
        assert broker.decide(session, read_lab(session, TWO), time.time()).grants == ()
    with town.store.read() as session:
        board = read_board(session, read_lab(session, TWO), None, time.time())
    assert (board.total, board.free) == (1, 0)
    marks.put_back(town.store, marking("GPU-0000", ""))
    with town.store.write() as session:
        assert len(broker.decide(session, read_lab(session, TWO), time.time()).grants) == 1


def test_marks_are_on_record_with_who_and_why(town):
    marks.take_out(town.store, marking(FIRST.uuid, "The fan is loud"))
    marks.reserve(town.store, marking(SECOND.uuid, "For the course"), Reserved(project="wheat"))
    out, kept = (town.audited(action=action)[0] for action in ("gpu.out", "gpu.reserve"))
    assert (out.subject, out.detail["reason"], out.actor) == (f"gpu:{FIRST.uuid}", "The fan is loud", ROOT.name)
    assert kept.detail["project"] == "wheat"
    with town.store.read() as session:
        found = marks.cards.stored_cards(session)[FIRST.uuid]
    assert (found.signed.reason, found.signed.by) == ("The fan is loud", ROOT.name)


@pytest.mark.parametrize("name", ["ana", "lia"])
def test_only_administrators_mark_cards(town, name):
    with pytest.raises(Forbidden):
        marks.take_out(town.store, marking(FIRST.uuid, actor=town.actor(name)))
    (row,) = town.audited(action="gpu.out")
    assert (row.actor, row.result) == (name, trace.REFUSED)


@pytest.mark.parametrize("card", ["0", "1", "GPU", "GPU-", "", "GPU-ffffffff", "x" * 500, "GPU-0000\n"])
def test_a_number_a_short_or_an_unknown_name_marks_nothing_b8(town, card):
    with pytest.raises(NotFound):
        marks.take_out(town.store, marking(card))
    assert [row.result for row in town.audited(action="gpu.out")] == [trace.REFUSED]


def test_a_card_is_taken_out_with_a_reason_alone(town):
    for reason in ("", "  ", "x" * 201, "two\nlines"):
        with pytest.raises(PeopleError):
            marks.take_out(town.store, marking(FIRST.uuid, reason))


def test_a_shared_card_has_a_place_for_each_tenant(town):
    with pytest.raises(LaunchRefused, match="no card of this kind"):
        asked(town, "ana", shared=True)
    marks.share(town.store, marking(FIRST.uuid), 2)
    assert {asked(town, name, shared=True).state for name in ("ana", "bea")} == {RequestState.GRANTED}
    assert asked(town, "gil", shared=True).state is RequestState.WAITING
    with town.store.read() as session:
        assert len(leases.holders_of(session, FIRST.uuid)) == 2
    with pytest.raises(PeopleError, match="only while nobody does"):
        marks.share(town.store, marking(FIRST.uuid), 1)


def test_a_held_card_is_not_shared_under_its_holder(town):
    """D16: whoever was given a whole card has it alone."""
    asked(town, "ana")
    with pytest.raises(PeopleError, match="only while nobody does"):
        marks.share(town.store, marking(FIRST.uuid), 3)
    marks.take_out(town.store, marking(FIRST.uuid))
    with town.store.write() as session:
        leases.end_lease(session, held(town)[FIRST.uuid], time.time())
    assert marks.share(town.store, marking(FIRST.uuid), 3).card.mark.tenants == 3


@pytest.mark.parametrize("tenants", [0, -1, 17, True, 10**9])
def test_a_card_has_a_few_tenants(town, tenants):
    with pytest.raises(PeopleError):
        marks.share(town.store, marking(FIRST.uuid), tenants)


def test_a_divided_card_is_not_shared_and_its_parts_follow_it(town):
    found = Inventory((DIVIDED,))
    for name in (DIVIDED.uuid, PARTS[0].uuid):
        with pytest.raises(PeopleError, match="divided into parts"):
            marks.share(town.store, marking(name, found=found), 2)
    marks.take_out(town.store, marking(PARTS[0].uuid, found=found))
    assert asked(town, "ana", found, profile="3g.12gb").state is RequestState.GRANTED
    assert list(held(town)) == [PARTS[1].uuid]
    marks.put_back(town.store, marking(PARTS[0].uuid, found=found))
    marks.take_out(town.store, marking(DIVIDED.uuid, found=found))
    assert asked(town, "bea", found, profile="3g.12gb").state is RequestState.WAITING


def test_a_card_kept_for_a_project_or_lab_goes_to_them_alone(town):
    create_project(town.store, town.site, town.actor("lia"), NewProject("oats", "Oats", "plants"))
    found = Inventory((FIRST,))
    marks.reserve(town.store, marking(FIRST.uuid), Reserved(project="rye"))
    with pytest.raises(LaunchRefused, match="no card of this kind that the project may use"):
        asked(town, "ana", found)
    marks.reserve(town.store, marking(FIRST.uuid), Reserved(lab="plants"))
    assert asked(town, "ana", found).state is RequestState.GRANTED
    marks.reserve(town.store, marking(FIRST.uuid), Reserved())
    with pytest.raises(NotFound):
        marks.reserve(town.store, marking(FIRST.uuid), Reserved(project="nowhere"))
    with pytest.raises(NotFound):
        marks.reserve(town.store, marking(FIRST.uuid), Reserved(lab="nowhere"))
    with pytest.raises(PeopleError, match="not for both"):
        marks.reserve(town.store, marking(FIRST.uuid), Reserved("wheat", "plants"))


def test_a_mark_that_comes_before_a_request_is_seen_by_its_decision(town):
    """D16: the cards are read in the transaction that decides; a mark cannot come between."""
    marks.take_out(town.store, marking(FIRST.uuid))
    marks.take_out(town.store, marking(SECOND.uuid))
    asking = Asking(town.actor("ana"), Asker("ana", "wheat"), ONE)
    (found,) = ask_together(broker.Broker(town.store), [asking], lambda session: read_lab(session, TWO), time.time())
    assert found.state is RequestState.WAITING


def test_a_card_that_left_is_forgotten_and_one_that_is_there_is_not(town):
    marks.take_out(town.store, marking(FIRST.uuid))
    with pytest.raises(PeopleError, match="is in the machine"):
        marks.forget(town.store, marking(FIRST.uuid))
    assert marks.forget(town.store, marking(FIRST.uuid, found=Inventory((SECOND,)))) == FIRST.uuid
    with pytest.raises(NotFound):
        marks.put_back(town.store, marking(FIRST.uuid, found=Inventory((SECOND,))))
