"""Dividing the cards: who may, what cannot be, what a try says, and that the queue obeys at its next decision."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.errors import Forbidden, NotFound, PeopleError, StaleVersion
from bancada_hub.gpus.asking import Asker, ask
from bancada_hub.gpus.broker import Turn
from bancada_hub.gpus.dividing import Wanted, divide, drop_rule, set_rule, try_division, try_rule
from bancada_hub.gpus.inventory import Card, Inventory
from bancada_hub.gpus.lab import read_lab
from bancada_hub.gpus.outlook import in_sentences
from bancada_hub.gpus.rule_words import rules_of
from bancada_hub.gpus.shares import days_text, hours_text, read_days, read_hours, read_moment
from bancada_hub.store import gpu_rules, labs, projects
from bancada_hub.store.gpu_rules import LabShare, NewRule, ProjectShare
from bancada_hub.store.requests import RequestState
from tests.hub.domain import ROOT, Town, make_town

GIB = 2**30
CARDS = Inventory(tuple(Card(f"GPU-{n}", n, memory_bytes=24 * GIB, used_bytes=0, processes=()) for n in range(3)))
ONE = {"cards": 1, "purpose": "interactive", "on_grant": "hold"}


@pytest.fixture
def town(tmp_path):
    made = make_town(tmp_path / "d")
    made.quickly("bea", "gil", "noa")
    with made.store.write() as session:
        for name, slug in (("bea", "wheat"), ("gil", "rye"), ("noa", "rye")):
            projects.add_member(session, made.project(slug).id, made.actor(name).person_id)
        projects.set_member_lead(session, made.project("rye").id, made.actor("noa").person_id, lead=True)
    yield made
    made.store.engine.dispose()


def share(town: Town, name: str, slug: str, **values: object) -> None:
    """Set what a project may have, by somebody."""
    project = town.project(slug)
    actor = ROOT if name == "root" else town.actor(name)
    divide(town.store, actor, Wanted(slug, project.version, replace(project.share, **values)), CARDS)


def ceiling(town: Town, most: int | None) -> None:
    with town.store.read() as session:
        lab = labs.find_lab(session, "plants")
    divide(town.store, ROOT, Wanted("plants", lab.version, LabShare(most)), CARDS)


def asked(town: Town, name: str, slug: str) -> RequestState:
    with town.store.read() as session:
        lab = read_lab(session, CARDS)
    return ask(town.store, town.actor(name), Asker(name, slug), ONE, lab, time.time()).state


def test_the_labs_lead_divides_and_the_queue_obeys_at_its_next_decision(town):
    share(town, "lia", "wheat", max_gpus=1)
    assert asked(town, "ana", "wheat") is RequestState.GRANTED
    assert asked(town, "bea", "wheat") is RequestState.WAITING
    assert asked(town, "gil", "rye") is RequestState.GRANTED
    share(town, "lia", "wheat", max_gpus=2)
    with town.store.write() as session:
        (grant,) = Turn(session).decide(read_lab(session, CARDS), time.time()).grants
    assert grant.lease.request.person_id == town.actor("bea").person_id
    (last, *_) = town.audited(action="project.gpus")
    assert (last.actor, last.result, last.detail["max_gpus"]) == ("lia", "done", 2)


@pytest.mark.parametrize(("name", "refusal"), [("noa", Forbidden), ("gil", Forbidden), ("eva", NotFound)])
def test_leads_of_one_project_members_and_strangers_do_not_divide(town, name, refusal):
    with pytest.raises(refusal):
        share(town, name, "rye", gpu_guarantee=1)
    with pytest.raises(refusal):
        set_rule(town.store, town.actor(name), "rye", NewRule(project_id=0, until_s=2e9, guarantee=1), CARDS)
    assert town.project("rye").share == ProjectShare()
    assert {row.result for row in town.audited(actor=name)} == {"refused"}


def test_a_ceiling_is_set_by_administrators_alone(town):
    with pytest.raises(Forbidden):
        divide(town.store, town.actor("lia"), Wanted("plants", 1, LabShare(2)), CARDS)
    ceiling(town, 2)
    share(town, "lia", "wheat", gpu_guarantee=2)
    with pytest.raises(PeopleError, match="The guarantees in lab plants sum to 3; its ceiling is 2"):
        share(town, "lia", "rye", gpu_guarantee=1)
    with pytest.raises(PeopleError, match="sum to 2; its ceiling is 1"):
        ceiling(town, 1)


def test_of_two_who_divide_the_second_is_told_who_was_first(town):
    version = town.project("wheat").version
    share(town, "lia", "wheat", max_gpus=1)
    with pytest.raises(StaleVersion, match="lia changed this project at"):
        divide(town.store, ROOT, Wanted("wheat", version, ProjectShare(max_gpus=3)), CARDS)
    assert town.project("wheat").max_gpus == 1


def test_a_card_that_fails_keeps_nobody_from_changing_the_rest(town):
    share(town, "lia", "wheat", gpu_guarantee=3)
    left = Inventory(CARDS.cards[:1])
    project = town.project("rye")
    divide(town.store, town.actor("lia"), Wanted("rye", project.version, ProjectShare(max_gpus=1)), left)
    with pytest.raises(PeopleError, match="in service: 1"):
        divide(town.store, ROOT, Wanted("rye", project.version + 1, ProjectShare(gpu_guarantee=1)), left)


@pytest.mark.parametrize(
    "values",
    [
        {"max_gpus": -1},
        {"max_gpus": 10**9},
        {"max_gpus": True},
        {"max_person_gpus": -3},
        {"gpu_guarantee": -1},
        {"gpu_guarantee": 2, "max_gpus": 1},
        {"gpu_guarantee": 4},
        {"gpu_weight": 0.0},
        {"gpu_weight": float("nan")},
        {"gpu_weight": 1e9},
        {"gpu_within_s": 1.0},
        {"gpu_within_s": float("inf")},
        {"gpu_memory_bytes": -1},
        {"gpu_guarantee": 1, "gpu_memory_bytes": 80 * GIB},
    ],
)
def test_a_share_that_cannot_be_changes_nothing(town, values):
    with pytest.raises(PeopleError):
        share(town, "lia", "wheat", **values)
    assert town.project("wheat").share == ProjectShare()


def test_a_try_says_who_gains_and_who_waits_and_changes_nothing(town):
    share(town, "root", "rye", max_gpus=1)
    assert asked(town, "gil", "rye") is RequestState.GRANTED
    assert asked(town, "noa", "rye") is RequestState.WAITING
    project = town.project("rye")
    wanted = Wanted("rye", project.version, replace(project.share, max_gpus=2))
    found = try_division(town.store, town.actor("lia"), wanted, CARDS)
    with town.store.read() as session:
        outcome = in_sentences(session, found)
    (gains,) = outcome.gains
    assert gains.startswith("rye: now the first is at place 1")
    assert gains.endswith("then all who wait are served at once.")
    assert (outcome.waits, outcome.problems) == ((), ())
    assert town.project("rye") == project
    with pytest.raises(Forbidden):
        try_division(town.store, town.actor("noa"), wanted, CARDS)
    over = try_division(town.store, ROOT, replace(wanted, share=ProjectShare(max_gpus=0)), CARDS)
    with town.store.read() as session:
        assert "Leases that go on although they would not be given again: 1." in in_sentences(session, over).remarks
    too_much = try_division(town.store, ROOT, replace(wanted, share=ProjectShare(gpu_guarantee=9)), CARDS)
    assert [each for each in too_much.problems if "in service: 3" in each]


def test_a_rule_holds_until_its_time_and_the_queue_obeys(town):
    """Until Friday, wheat has one card at most; at that instant it may have two again."""
    until_s = time.time() + 3600
    made = set_rule(town.store, town.actor("lia"), "wheat", NewRule(project_id=0, until_s=until_s, max_gpus=1), CARDS)
    assert asked(town, "ana", "wheat") is RequestState.GRANTED
    assert asked(town, "bea", "wheat") is RequestState.WAITING
    with town.store.write() as session:
        assert Turn(session).decide(read_lab(session, CARDS), until_s - 60).grants == ()
    with town.store.write() as session:
        assert len(Turn(session).decide(read_lab(session, CARDS), until_s + 1).grants) == 1
    with town.store.read() as session:
        (view,) = rules_of(session, project_id=town.project("wheat").id)
    assert view.holds
    assert view.text.startswith("At most 1 GPUs. Until 20")
    drop_rule(town.store, town.actor("lia"), made.id)
    with pytest.raises(NotFound):
        drop_rule(town.store, town.actor("lia"), made.id)
    assert [row.action for row in town.audited(action="gpu.rule-remove")] == ["gpu.rule-remove"] * 2


def test_a_rule_of_somebody_elses_lab_looks_like_none(town):
    made = set_rule(town.store, ROOT, "plants", NewRule(lab_id=0, until_s=2e9, max_gpus=1), CARDS)
    with pytest.raises(NotFound, match=f"There is no rule {made.id}"):
        drop_rule(town.store, town.actor("eva"), made.id)
    with pytest.raises(Forbidden):
        drop_rule(town.store, town.actor("lia"), made.id)
    with town.store.read() as session:
        assert gpu_rules.find_rule(session, made.id)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (NewRule(project_id=0, until_s=2e9), "changes nothing"),
        (NewRule(project_id=0, guarantee=1), "neither dates nor hours"),
        (NewRule(project_id=0, from_s=2e9, until_s=1e9, guarantee=1), "ends before it begins"),
        (NewRule(project_id=0, until_s=2e9, guarantee=99), "Guaranteed cards"),
        (NewRule(project_id=0, until_s=2e9, guarantee=-1), "not possible"),
        (NewRule(project_id=0, until_s=2e9, weight=0.0), "weight"),
        (NewRule(project_id=0, until_s=2e9, guarantee=1, note="x" * 201), "at most 200 characters"),
        (NewRule(project_id=0, until_s=2e9, guarantee=1, note="two\nlines"), "one line"),
        (NewRule(lab_id=0, until_s=2e9, guarantee=1), "no guarantee"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(town, rule, said):
    slug = "wheat" if rule.lab_id is None else "plants"
    with pytest.raises(PeopleError, match=said):
        set_rule(town.store, ROOT, slug, rule, CARDS)
    with town.store.read() as session:
        assert gpu_rules.rules(session) == []
    assert town.audited()[0].result == "refused"


def test_a_try_of_a_rule_is_of_the_time_when_it_holds(town):
    asked(town, "gil", "rye")
    asked(town, "noa", "rye")
    asked(town, "ana", "wheat")
    assert asked(town, "bea", "wheat") is RequestState.WAITING
    later = NewRule(project_id=0, from_s=2e9, until_s=3e9, max_gpus=0)
    with town.store.read() as session:
        outcome = in_sentences(session, try_rule(town.store, ROOT, "wheat", later, CARDS))
    assert [each.partition(":")[0] for each in outcome.waits] == ["wheat"]


@pytest.mark.parametrize(
    ("text", "days"),
    [("", None), ("mon-fri", "01234"), ("sat,sun", "56"), ("Fri-Mon", "0456"), (" wed ", "2"), ("sun-sun", "6")],
)
def test_days_are_read(text, days):
    assert read_days(text) == days
    assert read_days(days_text(days)) == days


@pytest.mark.parametrize("text", ["monday", "1-5", "mon-", "fri..sun", "mon fri", "x" * 500])
def test_what_names_no_days_is_refused(text):
    with pytest.raises(PeopleError, match="names no days"):
        read_days(text)


@given(st.integers(0, 1439), st.integers(1, 1440))
def test_hours_are_read_as_they_are_written(begin, minutes):
    assert read_hours(hours_text(begin, minutes)) == (begin, minutes)


@pytest.mark.parametrize(
    "text", ["22", "22:00", "25:00-26:00", "22:60-23:00", "22:00-24:01", "²²:00-23:00", "-", "a-b"]
)
def test_what_names_no_hours_is_refused(text):
    with pytest.raises(PeopleError, match="names no hours"):
        read_hours(text)


def test_dates_are_of_the_sites_zone_unless_they_say_another():
    zone = timezone(timedelta(hours=-3))
    assert read_moment("2026-12-04T18:00", zone) == datetime(2026, 12, 4, 21, tzinfo=UTC).timestamp()
    assert read_moment("2026-12-04T18:00+00:00", zone) == datetime(2026, 12, 4, 18, tzinfo=UTC).timestamp()
    assert read_moment("2026-12-04", zone) == datetime(2026, 12, 4, 3, tzinfo=UTC).timestamp()
    assert read_moment(" ", zone) is None


@pytest.mark.parametrize("text", ["tomorrow", "2026-13-01", "04.12.2026", "9" * 400, "2026-12-04T25:00"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(PeopleError, match="is not a date"):
        read_moment(text, UTC)
