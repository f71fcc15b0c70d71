"""Cards that fail, read through the unmodified bindings over the stand-in driver: each fault by its field case."""

import time

import pytest

from bancada_hub.gpus import broker, marks
from bancada_hub.gpus.asking import Asker, ask
from bancada_hub.gpus.attention import Looking, free_lease, needing_attention, say_well
from bancada_hub.gpus.board import read_board
from bancada_hub.gpus.faults import Xid
from bancada_hub.gpus.inventory import Inventory, with_expected
from bancada_hub.gpus.lab import read_lab
from bancada_hub.gpus.marks import Marking
from bancada_hub.gpus.nvml import Deadlines, read_inventory
from bancada_hub.gpus.settling import Todo, settle
from bancada_hub.gpus.watching import AGAIN_S, Looked, note
from bancada_hub.store import cards, incidents, leases, people, projects, servers
from bancada_hub.store.incidents import Incident
from bancada_hub.store.notices import unseen_notices
from bancada_hub.store.requests import RequestState
from tests.hub.domain import ROOT, Town, make_town
from tests.standin.nvml.driver import GIB, StandInDriver, card, scenario, uuid

QUICK = Deadlines(start_s=10, card_s=1)
LOST = {"lost": True}
BUSY = {"processes": [{"pid": 645400, "memory": 10 * GIB}], "memory": {"total": 80 * GIB, "used": 10 * GIB}}


class House:
    """A site over the stand-in driver, with ana and bea in one project, and dora, who runs it."""

    def __init__(self, town: Town, driver: StandInDriver) -> None:
        self.town, self.driver = town, driver
        self.lingering: frozenset[int] = frozenset()
        town.quickly("bea", "dora")
        with town.store.write() as session:
            projects.add_member(session, town.project("wheat").id, town.actor("bea").person_id)
            people.set_admin(session, town.actor("dora").person_id, admin=True)

    def read(self, *there: dict[str, object], **more: object) -> Inventory:
        """Make this the machine's state, and read it."""
        self.driver.write(scenario(*there, **more))
        found = read_inventory(self.driver.file.parent, QUICK, self.driver.environment)
        with self.town.store.read() as session:
            return with_expected(found, [each for each, kept in cards.stored_cards(session).items() if kept.seen.whole])

    def look(self, found: Inventory, now_s: float | None = None, **more: object) -> None:
        """Look as the clock does."""
        with self.town.store.write() as session:
            looked = Looked(found, **{"boot": "first", "lingering": self.lingering, **more})
            self.lingering = note(session, looked, now_s or time.time()).occupied

    def seen(self, *there: dict[str, object], now_s: float | None = None, **more: object) -> Inventory:
        found = self.read(*there, **more)
        self.look(found, now_s)
        return found

    def ask(self, name: str, found: Inventory, **what: object):
        with self.town.store.read() as session:
            lab = read_lab(session, found)
        asked = {"cards": 1, "purpose": "training", **what}
        made = ask(self.town.store, self.town.actor(name), Asker(name, "wheat"), asked, lab, time.time())
        with self.town.store.read() as session:
            board = read_board(session, read_lab(session, found), None, time.time())
        assert all(each.reason and each.change for each in board.waits), "whoever waits is told why"
        return made

    def start(self, request_id: int) -> None:
        """Do what a spawner does: take the grant in the transaction of the start."""
        with self.town.store.write() as session:
            row = next(request for lease, request in leases.live_leases(session) if lease.request_id == request_id)
            new = servers.NewServer(f"start-{request_id}", row.person_id, row.project_id, "work", "s", GIB, 1.0)
            servers.claim(session, new)
            assert leases.claim_lease(session, request_id, new.start_id, time.time())

    def stop(self, request_id: int) -> None:
        with self.town.store.write() as session:
            servers.release(session, f"start-{request_id}")

    def settle(self, found: Inventory) -> Todo:
        with broker.Broker(self.town.store).turn() as turn:
            return settle(turn, read_lab(turn.session, found), found, time.time())

    def lasting(self) -> list[tuple[str, str]]:
        with self.town.store.read() as session:
            return [(each.card, each.cause) for each in incidents.open_incidents(session)]

    def all(self) -> list[Incident]:
        with self.town.store.read() as session:
            return incidents.latest_incidents(session)

    def told(self, name: str) -> list[str]:
        with self.town.store.read() as session:
            return [each.text for each in unseen_notices(session, self.town.actor(name).person_id)]

    def held(self) -> dict[int, tuple[str, ...]]:
        with self.town.store.read() as session:
            return {lease.request_id: lease.cards for lease, _ in leases.live_leases(session)}


@pytest.fixture
def house(tmp_path, driver):
    town = make_town(tmp_path / "d")
    yield House(town, driver)
    town.store.engine.dispose()


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        (LOST, "lost"),
        ({"functions": {"nvmlDeviceGetRemappedRows": {"hang": True}}}, "silent"),
        ({"functions": {"nvmlDeviceGetHandleByIndex_v2": {"error": 3}}}, "unreadable"),
        ({"functions": {"nvmlDeviceGetHandleByIndex_v2": {"hang": True}}}, "silent"),
    ],
    ids=["lost-b9", "hangs-b10", "no-handle-b9", "hangs-nameless-b10"],
)
def test_a_card_that_stops_answering_b9_b10(house: House, more: dict[str, object], cause: str) -> None:
    """B9, B10: set aside by UUID, the others go on, told once to its holder and the administrators, over when back."""
    found = house.seen(card(0), card(1))
    request = house.ask("ana", found)
    house.start(request.id)
    (mine,) = house.held()[request.id]
    number = 0 if mine == uuid(0) else 1
    sick = [card(each, **(more if each == number else {})) for each in range(2)]
    for _ in range(3):  # three looks, as after restarts: nothing is kept between them but rows
        found = house.seen(*sick)
    assert house.lasting() == [(mine, cause)]
    (incident,) = house.all()
    assert incident.held == ((request.id, house.town.project("wheat").id, house.town.actor("ana").person_id),)
    (said,) = house.told("ana")
    assert "Your GPU for Wheat:" in said
    assert "stop the project and start it again" in said
    assert len(house.told("dora")) == 1
    assert house.told("bea") == []
    assert house.ask("bea", found).state is RequestState.GRANTED, "the other card goes on"
    assert house.held()[request.id] == (mine,), "the lease of a card that failed does not end by itself"
    house.seen(card(0), card(1))
    assert house.lasting() == []
    assert any("is well again" in text for text in house.told("dora"))


def test_a_card_that_is_no_longer_counted_is_missed_b9(house: House) -> None:
    """B9: some losses leave no error anywhere. One that an administrator took out of service first is no news."""
    house.seen(card(0), card(1))
    found = house.seen(card(0))
    assert house.lasting() == [(uuid(1), "missing")]
    assert house.ask("ana", found).state is RequestState.GRANTED
    assert house.ask("bea", found).state is RequestState.WAITING, "not refused: the card may come back"
    marks.take_out(house.town.store, Marking(ROOT, uuid(1), "Being repaired", found, time.time()))
    house.seen(card(0))
    assert house.lasting() == []
    house.seen(card(0), card(2))
    assert house.lasting() == []


def test_cards_that_change_their_numbers_are_the_same_cards_b8(house: House) -> None:
    found = house.seen(card(0), card(1))
    request = house.ask("ana", found)
    house.start(request.id)
    house.seen(card(1), card(0))
    assert house.lasting() == []
    assert house.held() == {request.id: house.held()[request.id]}


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ({"corrected": 0, "uncorrected": 4, "pending": True, "failed": False}, "repair-waits"),
        ({"corrected": 0, "uncorrected": 1, "pending": False, "failed": True}, "repair-failed"),
        ({"corrected": 0, "uncorrected": 1, "pending": False, "failed": False}, None),
    ],
)
def test_a_repair_that_waits_or_failed_b13(house: House, rows: dict[str, object], cause: str | None) -> None:
    """B13: the repair decides, not the count of errors."""
    house.seen(card(0))
    found = house.seen(card(0, remapped=rows))
    assert house.lasting() == ([(uuid(0), cause)] if cause else [])
    state = house.ask("ana", found).state
    assert state is (RequestState.WAITING if cause else RequestState.GRANTED)
    house.seen(card(0, lost=True))
    assert ((uuid(0), cause) in house.lasting()) is bool(cause), "what cannot be looked at is not over"
    house.seen(card(0))
    assert house.lasting() == []


def test_a_driver_that_does_not_fit_its_library_b2(house: House) -> None:
    """B2: what runs goes on, nothing new can use a card, both versions are named."""
    (house.driver.file.parent / "proc/driver/nvidia").mkdir(parents=True)
    line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
    (house.driver.file.parent / "proc/driver/nvidia/version").write_text(line)
    found = house.seen(card(0), card(1))
    request = house.ask("ana", found)
    house.start(request.id)
    for _ in range(2):
        found = house.seen(card(0), card(1), functions={"nvmlInit_v2": {"error": 18}}, nvml="12.550.107.02")
    assert house.lasting() == [("", "driver")]
    assert "550.90.07" in house.all()[0].words
    assert "550.107.02" in house.all()[0].words
    assert house.ask("bea", found).state is RequestState.WAITING, "in the queue until the driver is back"
    house.settle(found)
    assert list(house.held()) == [request.id]
    assert any("What runs on a card goes on" in text for text in house.told("ana"))
    found = house.seen(card(0), card(1))
    assert house.lasting() == []
    house.settle(found)
    assert len(house.held()) == 2


def test_a_server_that_lost_its_card_after_a_reload_b1(house: House) -> None:
    """B1: the host sees the card, the server's driver library answers 999; it is over when that server has gone."""
    found = house.seen(card(0))
    request = house.ask("ana", found)
    house.start(request.id)
    for _ in range(2):
        house.look(found, blind={("ana", "wheat"): "its devices were taken away."})
    assert house.lasting() == [(uuid(0), "lost-by-server")]
    (said,) = house.told("ana")
    assert "cannot reach it any more: its devices were taken away. Save your work" in said
    assert any("reload of systemd" in text for text in house.told("dora"))
    house.stop(request.id)
    house.look(found)
    assert house.lasting() == []
    house.settle(found)
    assert house.ask("bea", found).state is RequestState.GRANTED, "the card itself is well"


def test_an_error_that_the_driver_reports_blocks_the_card_until_somebody_looked_or_a_restart_b9(house: House) -> None:
    """B9: Xid 79 over several lines is one incident; an error of a program is none."""
    found = house.seen(card(0), card(1))
    house.look(found, xids=(Xid(uuid(0), 79), Xid(uuid(0), 79), Xid(uuid(1), 13), Xid(uuid(1), 43)))
    house.look(found, xids=(Xid(uuid(0), 79),))
    house.look(found)
    assert house.lasting() == [(uuid(0), "xid")]
    assert "Xid 79: it fell off the bus" in house.all()[0].words
    assert house.ask("ana", found).state is RequestState.GRANTED
    assert house.ask("bea", found).state is RequestState.WAITING
    say_well(house.town.store, Looking(ROOT, "Reset, and a test ran", time.time()), house.all()[0].id)
    assert house.lasting() == []
    house.look(found, xids=(Xid(uuid(1), 48),))
    assert house.lasting() == [(uuid(1), "xid")]
    house.look(found, boot="second")
    assert house.lasting() == [], "the machine was restarted since"
    assert house.town.audited(action="gpu.well")[0].detail["reason"] == "Reset, and a test ran"


def test_something_is_left_on_a_card_whose_server_has_gone_d20(house: House) -> None:
    """D20, B5: the container has gone and 10 GB are left; nobody new gets it until it is free or somebody looked."""
    found = house.seen(card(0))
    request = house.ask("ana", found)
    house.start(request.id)
    house.stop(request.id)
    found = house.seen(card(0, **BUSY))
    assert house.settle(found).occupied == (request.id,)
    assert house.lasting() == [], "the driver takes a moment to let go"
    house.seen(card(0, **BUSY))
    assert house.lasting() == [(uuid(0), "occupied")]
    with house.town.store.read() as session:
        (attention,) = needing_attention(session, found)
    assert (attention.request_id, attention.person) == (request.id, "ana")
    assert attention.seen == ("processes 645400, 10240 MiB of memory",), "the host's process, not looked up here"
    assert house.ask("bea", found).state is RequestState.WAITING
    free_lease(house.town.store, Looking(ROOT, "A zombie of ana's; killed", time.time()), request.id, found)
    assert house.settle(found).moved
    assert house.held() != {}
    house.look(found)
    assert house.lasting() == []
    (row,) = house.town.audited(action="gpu.free")
    assert row.detail["seen"] == ["processes 645400, 10240 MiB of memory"]


def test_a_card_that_does_not_say_what_is_on_it_is_not_free_b4(house: House) -> None:
    """B4: “not available” is no number of bytes, and no freedom."""
    found = house.seen(card(0))
    request = house.ask("ana", found)
    house.start(request.id)
    house.stop(request.id)
    found = house.seen(card(0, memory={"total": 80 * GIB, "used": 2**64 - 1}))
    assert house.settle(found).occupied == (request.id,)
    assert house.settle(house.seen(card(0))).occupied == ()


def test_a_lease_of_a_running_server_or_with_an_empty_reason_is_not_freed(house: House) -> None:
    found = house.seen(card(0))
    request = house.ask("ana", found)
    house.start(request.id)
    for actor, reason, number in (
        (ROOT, "Gone", request.id),
        (ROOT, "Gone", 99),
        (ROOT, " ", request.id),
        (house.town.actor("lia"), "Mine", request.id),
    ):
        with pytest.raises(marks.PeopleError):
            free_lease(house.town.store, Looking(actor, reason, time.time()), number, found)
    assert [row.result for row in house.town.audited(action="gpu.free")] == ["refused"] * 4
    assert list(house.held()) == [request.id]


def part(number: int) -> dict[str, object]:
    return {"uuid": f"MIG-{number:08x}-aaaa", "name": "MIG 3g.40gb", "memory": {"total": 40 * GIB, "used": 10_000_000}}


def test_a_card_that_is_divided_anew_under_a_lease_b3(house: House) -> None:
    """B3, issue 5: MIG reconfigured under a lease; what is no more has nothing on it, and a stale UUID is refused."""
    divided = {"mig_mode": 1, "utilization": 0}
    found = house.seen(card(0, **divided, mig=[part(1), part(2)]))
    request = house.ask("ana", found, profile="3g.40gb")
    house.start(request.id)
    (mine,) = house.held()[request.id]
    other = [part(7)]
    for _ in range(2):
        found = house.seen(card(0, **divided, mig=other))
    assert house.lasting() == [(mine, "parts-changed")]
    assert any("was divided anew" in text for text in house.told("ana"))
    assert house.ask("bea", found, profile="3g.40gb").state is RequestState.GRANTED, "the new part is another's"
    house.stop(request.id)
    house.settle(found)
    assert list(house.held().values()) == [("MIG-00000007-aaaa",)]
    house.look(found)
    assert house.lasting() == []


def test_one_value_that_cannot_be_read_is_no_incident_b14(house: House) -> None:
    """B14: the temperature, or whatever else a card does not say, costs nobody a card."""
    found = house.seen(card(0, utilization=None, numa_node=None, remapped=None, ecc=None))
    assert house.lasting() == []
    assert house.ask("ana", found).state is RequestState.GRANTED


def test_a_grant_whose_card_fails_before_the_start_goes_back_into_the_queue(house: House) -> None:
    found = house.seen(card(0))
    first = house.ask("ana", found)
    found = house.seen(card(0, lost=True))
    assert house.settle(found).moved
    assert house.held() == {}
    assert any("You have your place in the queue again" in text for text in house.told("ana"))
    found = house.seen(card(0))
    assert house.settle(found).moved
    (again,) = house.held()
    assert again != first.id


def test_a_card_that_comes_and_goes_is_told_once_and_a_clock_that_jumps_back_ends_nothing_early(house: House) -> None:
    now_s = time.time()
    house.seen(card(0), now_s=now_s)
    for step in range(3):
        house.seen(card(0, lost=True), now_s=now_s + 60 * step)
        house.seen(card(0), now_s=now_s + 60 * step + 30)
    assert len(house.all()) == 1
    assert sum("fell off the bus" in text for text in house.told("dora")) == 1
    house.seen(card(0, lost=True), now_s=now_s + 2 * AGAIN_S)
    assert len(house.all()) == 2
    house.seen(card(0), now_s=now_s - 3600)
    assert all(each.ended_s >= each.began_s for each in house.all())


def test_two_on_a_shared_card_leave_one_after_the_other(house: House) -> None:
    """What is on a shared card is not told apart: who leaves first does not wait for the other's work to end."""
    found = house.seen(card(0))
    marks.share(house.town.store, Marking(ROOT, uuid(0), "", found, time.time()), 2)
    first, second = (house.ask(name, found, shared=True) for name in ("ana", "bea"))
    for each in (first, second):
        house.start(each.id)
    found = house.seen(card(0, **BUSY))
    house.stop(first.id)
    house.settle(found)
    assert list(house.held()) == [second.id]
    house.stop(second.id)
    assert house.settle(found).occupied == (second.id,), "the last one's card has to be seen free"
    house.settle(house.seen(card(0)))
    assert house.held() == {}
