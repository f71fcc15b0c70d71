"""What people are told: why they wait, how long, what a change of rules would do, and what is refused at the door."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bancada_hub.errors import LaunchRefused, Told
from bancada_hub.gpus.scheduling import events
from bancada_hub.gpus.scheduling.door import Site, read_shape
from bancada_hub.gpus.scheduling.forecast import History, Outcome, Range, set_right
from bancada_hub.gpus.scheduling.preview import preview, problems_of
from bancada_hub.gpus.scheduling.rules import ProjectRule, Purpose, Timed
from bancada_hub.gpus.scheduling.values import Card, Mark, OnGrant, State
from bancada_hub.gpus.scheduling.why import Explainer, Reader
from tests.hub.gpus.town import GIB, HOUR, T0, ask, cards, rules, run

ANA, BIA = Reader(11, frozenset({1})), Reader(21, frozenset({2}))


def full(limits=None, count: int = 1) -> State:
    """A lab whose cards are all held by project 9 for 8 hours."""
    state = State(cards(count), limits or rules(ProjectRule(1, 1), ProjectRule(2, 1)))
    for number in range(1, count + 1):
        state = ask(state, number, 9, 90 + number, wanted_s=8 * HOUR)
    state, _ = run(state, T0)
    for number in range(1, count + 1):
        state = events.claim(state, number, T0)
    return state


def test_place_and_who_is_ahead_as_far_as_one_may_know():
    state = ask(ask(ask(full(), 11, 1, 11), 12, 2, 21, at_s=T0 + 1), 13, 1, 12, at_s=T0 + 2)
    explainer = Explainer(state, T0 + HOUR)
    told = explainer.why(12, BIA)
    assert (told.place, told.ahead, told.others) == (2, (), 1)
    told = explainer.why(13, ANA)
    assert (told.place, [each.id for each in told.ahead], told.others) == (3, [11], 1)
    assert [each.id for each in explainer.why(13, Reader(5, everything=True)).ahead] == [11, 12]


@pytest.mark.parametrize(
    ("limits", "shape", "reason", "change"),
    [
        (rules(), {}, "Of the cards that would do, 0 are free; needed: 1.", "enough leases end by 2027-01-15 16:00"),
        (rules(), {"memory_bytes": 99 * GIB}, "Too few cards with 99 GiB or more", "Ask for less"),
        (rules(), {"profile": "1g.5gb"}, "No card in service has a part of the size 1g.5gb.", "Ask for less"),
        (rules(), {"card": "GPU-7"}, "The card GPU-7 is not in service.", "Ask for less"),
        (rules(ProjectRule(1, limit=0)), {}, "The project holds 0 of the 0 that it may", "raises the limit"),
        (rules(ProjectRule(1, person_limit=0)), {}, "at once in this project", "Stop one of your servers"),
        (rules(person_limit=0), {}, "You hold 0 of the 0 that a person", "Stop one of your servers"),
        (
            rules(ProjectRule(1, 1), ceiling=0),
            {},
            "The lab's projects hold 0 of the 0",
            "raises the lab's ceiling",
        ),
    ],
)
def test_each_reason_says_what_would_change_it(limits, shape, reason, change):
    state = ask(full(limits), 11, 1, 11, **shape)
    why = Explainer(state, T0 + 60).why(11, ANA)
    assert reason in why.reason
    assert change in why.change
    assert isinstance(why.reason, Told)
    assert isinstance(why.change, Told)


def test_what_is_kept_for_a_guarantee_says_for_how_long_it_can_be_lent():
    limits = rules(ProjectRule(2, 1, guarantee=1, within_s=2 * HOUR), ProjectRule(1, 1), settle_s=0)
    why = Explainer(ask(State(cards(1), limits), 11, 1, 11, least_s=4 * HOUR), T0).why(11, ANA)
    assert why.reason == "The free cards can be lent for 2 h; you need them for 4 h at least."
    assert why.change == "Ask for 2 h or less to have a card at once."


def test_a_range_comes_from_how_long_leases_really_last():
    """Leases may last 8 hours and last one: behind one that is half an hour old one waits half of one."""
    history = History({(9, Purpose.INTERACTIVE): (0.9 * HOUR, HOUR, 1.1 * HOUR) * 20})
    state = ask(full(), 11, 1, 11)
    wait = Explainer(state, T0 + HOUR / 2, history).why(11, ANA).wait
    assert 0.3 * HOUR < wait.low_s <= wait.middle_s <= wait.high_s < 0.8 * HOUR
    late = Explainer(state, T0 + 5 * HOUR, history).why(11, ANA).wait
    assert late.middle_s == pytest.approx(3 * HOUR, abs=300), "it has outlasted them all: its end is what is known"


def test_the_same_question_has_the_same_answer():
    history = History({(9, Purpose.INTERACTIVE): tuple(Random(1).uniform(60, 9 * HOUR) for _ in range(99))})
    state = full(count=4)
    for number in range(11, 30):
        state = ask(state, number, number % 3 + 1, number, at_s=T0 + number)
    first, again = (Explainer(state, T0 + 99, history).why(25, ANA) for _ in range(2))
    assert first == again


def test_forecasts_are_set_right_by_how_far_past_ones_were_off():
    said = Range(HOUR, 2 * HOUR, 3 * HOUR)
    outcomes = [Outcome(said, hours * HOUR) for hours in (4, 5, 6, 7, 8) * 5]
    right = set_right(said, outcomes)
    inside = [right.low_s <= each.waited_s <= right.high_s for each in outcomes]
    assert sum(inside) / len(inside) >= 0.8
    assert set_right(said, outcomes[:5]) == said


def test_a_dry_run_shows_who_gains_and_who_waits():
    state = full(rules(ProjectRule(1, 1), ProjectRule(2, 1)))
    state = ask(ask(state, 11, 1, 11), 12, 2, 21, at_s=T0 + 1)
    changed = rules(ProjectRule(1, 1), ProjectRule(2, 1, weight=9), ProjectRule(9, 1, limit=0))
    changed = replace(changed, timed=(Timed(project_id=1, limit=0),))
    shown = preview(state, changed, History(), T0 + 60)
    assert [change.project_id for change in shown.gains] == [2]
    assert [change.project_id for change in shown.waits] == [1]
    assert shown.over == (1,), "it goes on, and is named"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (rules(ProjectRule(1, 1, guarantee=2), ceiling=1), "sum to 2; its ceiling is 1"),
        (rules(ProjectRule(1, 1, guarantee=5)), "Guaranteed cards: 5; in service: 4."),
        (
            rules(ProjectRule(1, 1, guarantee=1, memory_bytes=90 * GIB)),
            "with 90 GiB or more: 1; in service: 0.",
        ),
        (rules(ProjectRule(1, 1, guarantee=2, limit=1)), "(2) is above its limit (1)."),
        (rules(ProjectRule(1, 1, weight=0)), "weight of project 1 must be more than 0"),
        (rules(ProjectRule(1, 1, limit=-1)), "cannot be negative"),
        (rules(ProjectRule(1, 1, guarantee=1, within_s=10)), "within less than 5 min"),
        (rules(ProjectRule(1, 1), timed=(Timed(project_id=1, from_s=T0 + HOUR, guarantee=9),)), "Guaranteed cards: 9;"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(changed, problem):
    """Bad input: guarantees above the ceiling, also those that only begin later."""
    assert any(problem in found for found in problems_of(changed, cards(4), T0))
    assert preview(State(cards(4)), changed, History(), T0).problems


SITE = Site(
    (*cards(4), Card("GPU-big", 80 * GIB), Card("MIG-1", 10 * GIB, profile="1g.10gb"), Card("GPU-s", GIB, tenants=2)),
    rules(ProjectRule(1, 1, person_limit=4), ceiling=4),
)


def door(site: Site = SITE, **asked: object):
    return read_shape({"purpose": "training", **asked}, (1, 11), site, T0)


def test_a_good_request_is_read():
    shape, on_grant = door(cards=2, memory_gib=24, hours=5, least_hours=0.5, on_grant="start")
    assert (shape.cards, shape.memory_bytes, shape.wanted_s, shape.least_s) == (2, 24 * GIB, 5 * HOUR, HOUR / 2)
    assert on_grant is OnGrant.START
    assert door(card="GPU-b")[0].card == "GPU-big", "B8: the driver takes the beginning of a UUID too"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"cards": 0}, "bad-number"),
        ({"cards": -1}, "bad-number"),
        ({"cards": True}, "bad-number"),
        ({"cards": 1.5}, "bad-number"),
        ({"cards": "2"}, "bad-number"),
        ({"cards": 10**30}, "bad-number"),
        ({"cards": None}, "bad-number"),
        ({"cards": 6}, "too-many"),
        ({"cards": 5}, "above-limit-person-in-project"),
        ({"memory_gib": 81}, "no-such-card"),
        ({"memory_gib": -1}, "bad-number"),
        ({"memory_gib": float("nan")}, "bad-number"),
        ({"memory_gib": float("inf")}, "bad-number"),
        ({"memory_gib": False}, "bad-number"),
        ({"memory_gib": "40"}, "bad-number"),
        ({"memory_gib": 50, "cards": 2}, "too-many"),
        ({"hours": 0}, "bad-number"),
        ({"hours": 10**9}, "bad-number"),
        ({"hours": 2, "least_hours": 3}, "too-long"),
        ({"hours": 400, "least_hours": 300}, "too-long"),
        ({"card": "GPU-gone"}, "unknown-card"),
        ({"card": "GPU"}, "unknown-card"),
        ({"card": 7}, "bad-text"),
        ({"card": "x" * 81}, "bad-text"),
        ({"card": "GPU-1", "cards": 2}, "bad-kind"),
        ({"profile": "7g.80gb"}, "no-such-card"),
        ({"profile": "1g.10gb", "cards": 2}, "bad-kind"),
        ({"profile": "1g.10gb", "shared": True}, "bad-kind"),
        ({"shared": "yes"}, "bad-switch"),
        ({"shared": True, "cards": 2}, "bad-kind"),
        ({"purpose": "fun"}, "bad-choice"),
        ({"purpose": ["training"]}, "bad-choice"),
        ({"on_grant": 1}, "bad-choice"),
        ({"priority": 1}, "unknown-field"),
    ],
)
def test_what_can_never_be_served_is_refused_at_the_door(asked, reason):
    with pytest.raises(LaunchRefused) as refused:
        door(**asked)
    assert refused.value.reason == reason
    assert refused.value.fix


def test_nobody_fills_the_queue_alone():
    with pytest.raises(LaunchRefused, match="queue: 50; more are not taken"):
        door(replace(SITE, waiting=50))


def test_a_card_kept_for_others_is_not_there():
    kept = Card("GPU-k", 99 * GIB, mark=Mark.RESERVED, reserved_for=frozenset({2}))
    with pytest.raises(LaunchRefused, match="No card has 90 GiB"):
        door(replace(SITE, cards=(*SITE.cards, kept)), memory_gib=90)


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.lists(st.integers()))


@given(st.dictionaries(st.sampled_from(sorted({"cards", "memory_gib", "hours", "card", "shared", "profile"})), VALUES))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_the_door_lets_in_only_what_can_be_served_and_never_breaks(asked):
    try:
        shape, _ = door(**asked)
    except LaunchRefused:
        return
    assert 1 <= shape.cards <= 4
    assert shape.least_s <= shape.wanted_s
    assert sum(shape.suits(card) for card in SITE.cards) >= shape.cards
