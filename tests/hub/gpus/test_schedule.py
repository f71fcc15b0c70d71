"""The decision, case by case."""

from dataclasses import replace

import pytest

from bancada_hub.gpus.scheduling import events
from bancada_hub.gpus.scheduling.rules import DAY_S, Hours, ProjectRule, Purpose, Timed, turns
from bancada_hub.gpus.scheduling.schedule import schedule
from bancada_hub.gpus.scheduling.values import Card, Health, Mark, OnGrant, Request, Shape, State
from tests.hub.gpus.town import GIB, HOUR, T0, ask, cards, from_rows, granted, held, rules, run

TRAINING = {"purpose": Purpose.TRAINING, "wanted_s": 48 * HOUR}


def ends_in(decisions, number: int) -> float:
    lease = next(grant.lease for grant in decisions.grants if grant.lease.id == number)
    return (lease.ends_s - decisions.now_s) / HOUR


def test_two_who_ask_at_once_get_different_cards():
    """D16: named by UUID, never by a count."""
    state = ask(ask(State(cards(2)), 1, 1, 1), 2, 2, 2)
    state, decisions = run(state, T0)
    assert {grant.lease.cards for grant in decisions.grants} == {("GPU-0",), ("GPU-1",)}
    assert granted(run(ask(state, 3, 3, 3), T0)[1]) == []


def test_a_card_that_is_not_seen_free_needs_attention_and_is_not_leased():
    """D20: the server has gone, and 10 GB stay taken."""
    state, _ = run(ask(State(cards(1)), 1, 1, 1), T0)
    state = events.release(events.claim(state, 1, T0), 1, T0 + 60, clear=False)
    assert state.leases == {}
    assert state.cards[0].health is Health.ATTENTION
    assert granted(run(ask(state, 2, 2, 2), T0 + 60)[1]) == []


def test_whoever_leaves_a_project_leaves_its_queue():
    """D12: removed while waiting; what they hold is ended elsewhere, with their server."""
    state = ask(ask(State(cards(1)), 1, 1, 1), 2, 1, 1)
    state, _ = run(state, T0)
    state, decisions = run(replace(state, barred=frozenset({(1, 1)})), T0 + 1)
    assert [drop.request_id for drop in decisions.drops] == [2]
    assert len(state.waiting) == 0
    assert list(state.leases) == [1]


def test_what_is_idle_of_a_guarantee_is_lent_for_no_longer_than_it_can_be_spared():
    state = State(cards(2), rules(ProjectRule(1, 1, guarantee=2, within_s=4 * HOUR), ProjectRule(2, 1), settle_s=0))
    state = ask(ask(state, 1, 2, 2, **TRAINING), 2, 2, 2, **TRAINING)
    state, decisions = run(state, T0)
    assert [ends_in(decisions, 1), ends_in(decisions, 2)] == [4, 4]


def test_what_no_guarantee_needs_is_lent_for_as_long_as_was_asked():
    state = State(cards(3), rules(ProjectRule(1, 1, guarantee=2, within_s=4 * HOUR), ProjectRule(2, 1), settle_s=0))
    for number in (1, 2, 3):
        state = ask(state, number, 2, 2, **TRAINING)
    _, decisions = run(state, T0)
    assert sorted(ends_in(decisions, number) for number in (1, 2, 3)) == [4, 4, 48]


def test_a_card_that_cannot_be_lent_long_enough_stays_free():
    state = State(cards(1), rules(ProjectRule(1, 1, guarantee=1, within_s=HOUR), ProjectRule(2, 1)))
    state, decisions = run(ask(state, 1, 2, 2, least_s=2 * HOUR), T0)
    assert granted(decisions) == []
    assert granted(run(ask(state, 2, 2, 2, least_s=HOUR / 2), T0)[1]) == [2]


def test_a_guarantee_comes_before_everybody_else():
    state = State(cards(1), rules(ProjectRule(1, 1, guarantee=1), ProjectRule(2, 1)))
    state = ask(ask(state, 1, 2, 2, at_s=T0 - 99), 2, 1, 1)
    assert granted(run(state, T0)[1]) == [2]


def test_until_friday_a_project_gets_three():
    """A rule with a date: what is lent before it ends in time for it."""
    friday = T0 + 20 * HOUR
    timed = (Timed(project_id=1, from_s=friday, until_s=friday + 5 * DAY_S, guarantee=2),)
    two = (ProjectRule(1, 1, guarantee=1, within_s=2 * HOUR), ProjectRule(2, 1))
    state = State(cards(2), rules(*two, timed=timed, settle_s=0))
    state = ask(ask(state, 1, 2, 2, **TRAINING), 2, 1, 1, **TRAINING)
    state, decisions = run(state, T0)
    assert (ends_in(decisions, 1), ends_in(decisions, 2)) == (22, 48)
    state = events.claim(events.claim(state, 1, T0 + 1), 2, T0 + 1)
    state, _ = run(ask(state, 3, 1, 1, at_s=friday, **TRAINING), friday)
    assert held(state, 1) == 1
    state, decisions = run(events.release(state, 1, friday + 2 * HOUR), friday + 2 * HOUR)
    assert granted(decisions) == [3]


def test_nights_are_hours_of_the_day_on_which_they_begin():
    night = Timed(project_id=1, hours=Hours(frozenset({4}), 22 * 60, 8 * 60), guarantee=1)
    begins = turns(rules(ProjectRule(1), timed=(night,)), T0, T0 + 7 * DAY_S)
    assert len(begins) == 2
    assert begins[1] - begins[0] == 8 * HOUR


def test_the_least_used_against_its_weight_is_next():
    state = State(cards(1), rules(ProjectRule(1, 1, weight=1), ProjectRule(2, 1, weight=3)))
    state = replace(state, use=replace(state.use, at_s=T0, projects={1: 100e6, 2: 200e6}))
    state = ask(ask(state, 1, 1, 1), 2, 2, 2)
    assert granted(run(state, T0)[1]) == [2]


def test_use_within_a_guarantee_counts_against_nobody():
    state = State(cards(2), rules(ProjectRule(1, 1, guarantee=1), ProjectRule(2, 1)))
    state = ask(ask(state, 1, 1, 1, **TRAINING), 2, 2, 2, wanted_s=8 * HOUR)
    state, _ = run(state, T0)
    for number in (1, 2):
        state = events.claim(state, number, T0)
    _, decisions = run(state, T0 + 8 * HOUR)
    assert decisions.use.projects.get(1, 0) == 0
    assert decisions.use.projects[2] == pytest.approx(8 * HOUR * 1000, rel=0.02)


def test_use_counts_half_a_half_life_later():
    state = replace(State(), use=replace(State().use, at_s=T0, projects={1: 1000.0}))
    assert schedule(state, T0 + 7 * DAY_S).use.projects[1] == pytest.approx(500)


def test_small_requests_do_not_keep_a_large_one_waiting():
    """Backfill: others get the free card only until the large request has its second one."""
    state, _ = run(ask(State(cards(2)), 1, 1, 1, wanted_s=6 * HOUR), T0)
    state = events.claim(state, 1, T0)
    state = ask(ask(state, 2, 2, 2, cards=2), 3, 3, 3, at_s=T0 + 1, wanted_s=12 * HOUR)
    state = replace(state, use=replace(state.use, at_s=T0, projects={3: 9e9}))
    state, decisions = run(state, T0 + 2)
    assert granted(decisions) == [3]
    assert decisions.grants[0].lease.ends_s <= T0 + 6 * HOUR
    assert decisions.heads[0].request_id == 2


def test_small_requests_under_one_ceiling_do_not_keep_a_large_one_waiting():
    limits = rules(ProjectRule(1, 1), ProjectRule(2, 1), ceiling=2)
    state, _ = run(ask(State(cards(4), limits), 1, 1, 1, wanted_s=6 * HOUR), T0)
    state = ask(events.claim(state, 1, T0), 2, 2, 2, cards=2)
    state = ask(state, 3, 1, 3, at_s=T0 + 1, wanted_s=12 * HOUR)
    _, decisions = run(state, T0 + 2)
    assert all(grant.lease.ends_s <= T0 + 6 * HOUR for grant in decisions.grants)


def test_a_request_that_never_fits_keeps_nobody_waiting():
    """The limit was lowered after it was asked for."""
    state = ask(State(cards(4), rules(ProjectRule(1, 1, limit=2))), 1, 1, 1, cards=3)
    assert granted(run(ask(state, 2, 1, 2, at_s=T0 + 1), T0 + 2)[1]) == [2]


def test_whoever_was_not_served_for_long_comes_next():
    state = State(cards(1), rules(ProjectRule(1, 1), ProjectRule(2, 1)))
    state = replace(state, use=replace(state.use, at_s=T0 + 8 * DAY_S, projects={1: 9e12}))
    state = ask(ask(state, 1, 1, 1), 2, 2, 2, at_s=T0 + 8 * DAY_S)
    _, decisions = run(state, T0 + 8 * DAY_S)
    assert granted(decisions) == [1]
    assert "7 days" in decisions.grants[0].reason


def test_cards_of_one_request_hang_on_one_switch():
    """G8: peer to peer over one switch, else within one NUMA node."""
    state, _ = run(ask(State(cards(8)), 1, 1, 1), T0)
    _, decisions = run(ask(state, 2, 2, 2, cards=2), T0)
    assert decisions.grants[0].lease.cards == ("GPU-2", "GPU-3")
    _, decisions = run(ask(state, 2, 2, 2, cards=3), T0)
    assert {int(uuid[4:]) // 4 for uuid in decisions.grants[0].lease.cards} in ({0}, {1})


def test_the_smallest_card_that_will_do():
    there = (Card("GPU-a", 80 * GIB), Card("GPU-b", 24 * GIB), Card("GPU-c", 48 * GIB))
    state = ask(State(there), 1, 1, 1, memory_bytes=40 * GIB)
    assert run(state, T0)[1].grants[0].lease.cards == ("GPU-c",)


def test_the_fullest_parent():
    parts = [Card(f"MIG-{p}{n}", 10 * GIB, profile="1g.10gb", parent=p, milli=142) for p in "ab" for n in range(3)]
    state, _ = run(ask(State(tuple(reversed(parts))), 1, 1, 1, profile="1g.10gb"), T0)
    (first,) = state.leases[1].cards
    _, decisions = run(ask(state, 2, 2, 2, profile="1g.10gb"), T0)
    assert decisions.grants[0].lease.cards[0][4] == first[4]
    assert decisions.grants[0].lease.milli == 142


def test_a_shared_card_takes_so_many_and_no_more():
    state = State((Card("GPU-s", 40 * GIB, tenants=2),))
    for number in (1, 2, 3):
        state = ask(state, number, number, number, shared=True)
    state, decisions = run(ask(state, 4, 4, 4), T0)
    assert len(granted(decisions)) == 2
    assert 4 not in granted(decisions), "a shared card is nobody's alone"


@pytest.mark.parametrize(
    "card",
    [Card("GPU-x", GIB, mark=Mark.OUT), Card("GPU-x", GIB, health=Health.LOST), Card("GPU-x", GIB, mark=Mark.RESERVED)],
)
def test_a_card_out_of_service_lost_or_kept_is_not_given(card):
    assert granted(run(ask(State((card,)), 1, 1, 1), T0)[1]) == []


def test_a_kept_card_goes_to_its_project_first():
    kept = Card("GPU-k", 80 * GIB, mark=Mark.RESERVED, reserved_for=frozenset({7}))
    state = ask(ask(State((*cards(1), kept)), 1, 7, 1), 2, 8, 2)
    _, decisions = run(state, T0)
    assert {g.lease.request.project_id: g.lease.cards for g in decisions.grants} == {7: ("GPU-k",), 8: ("GPU-0",)}


def test_a_grant_that_nobody_claims_passes_on():
    state, _ = run(ask(ask(State(cards(1)), 1, 1, 1), 2, 2, 2), T0)
    for at_s in range(60, 900, 60):
        state, decisions = run(state, T0 + at_s)
        assert decisions.passed == ()
    state, decisions = run(state, T0 + 900)
    assert [each.lease_id for each in decisions.passed] == [1]
    assert granted(decisions) == [2]


def test_two_browsers_claim_one_grant():
    state, _ = run(ask(State(cards(1)), 1, 1, 1), T0)
    once = events.claim(state, 1, T0 + 10)
    assert once.leases[1].claim_by_s is None
    assert events.claim(once, 1, T0 + 11) == once


def test_a_claim_after_its_window_gets_nothing():
    state, _ = run(ask(State(cards(1)), 1, 1, 1), T0)
    assert events.claim(state, 1, T0 + 901) == state


@pytest.mark.parametrize("jump_s", [400 * DAY_S, -400 * DAY_S])
def test_a_clock_that_jumps_ends_no_work_and_loses_no_grant(jump_s):
    state = ask(ask(ask(State(cards(2)), 1, 1, 1, wanted_s=8 * HOUR), 2, 2, 2), 3, 3, 3)
    state, _ = run(state, T0)
    state = events.claim(state, 1, T0)
    state, decisions = run(state, T0 + jump_s)
    assert (decisions.ends, decisions.passed) == ((), ())
    assert set(state.leases) == {1, 2}
    assert all(lease.ends_s > T0 + jump_s for lease in state.leases.values())
    state, decisions = run(state, T0 + 60)
    assert (decisions.ends, decisions.passed) == ((), ())
    assert all(lease.ends_s <= T0 + 60 + 12 * HOUR for lease in state.leases.values())
    assert decisions.use.projects.get(1, 0) <= 9 * HOUR * 1000


def test_mig_split_anew_under_a_lease_gives_it_to_nobody_else():
    part = Card("MIG-a", 10 * GIB, profile="1g.10gb", parent="GPU-p")
    state, _ = run(ask(State((part,)), 1, 1, 1, profile="1g.10gb"), T0)
    state = replace(state, cards=(replace(part, uuid="MIG-b"),))
    state, decisions = run(ask(state, 2, 2, 2, profile="1g.10gb"), T0)
    assert [grant.lease.cards for grant in decisions.grants] == [("MIG-b",)]


def test_a_lease_is_not_extended_when_somebody_waits_for_its_card():
    state, _ = run(ask(State(cards(1)), 1, 1, 1, wanted_s=2 * HOUR), T0)
    assert events.extend(state, 1, T0 + 9 * HOUR, T0 + HOUR) == T0 + 9 * HOUR
    state = ask(state, 2, 2, 2)
    assert events.extend(state, 1, T0 + 9 * HOUR, T0 + HOUR) == T0 + 2 * HOUR


def test_a_borrowed_lease_is_extended_as_far_as_the_guarantee_allows():
    state = State(cards(1), rules(ProjectRule(1, 1, guarantee=1, within_s=4 * HOUR), ProjectRule(2, 1), settle_s=0))
    state, _ = run(ask(state, 1, 2, 2, **TRAINING), T0)
    assert events.extend(state, 1, T0 + 90 * HOUR, T0 + 3 * HOUR) == T0 + 7 * HOUR


def test_the_order_of_rows_decides_nothing():
    state = State(cards(6), rules(ProjectRule(1, 1, guarantee=1), ProjectRule(2, 1), ProjectRule(3, 2)))
    for number in range(1, 40):
        state = ask(state, number, number % 3 + 1, number % 7, cards=number % 2 + 1, at_s=T0)
    assert {str(schedule(from_rows(state, seed), T0 + 5)) for seed in range(5)} == {str(schedule(state, T0 + 5))}


def test_labs_share_before_their_projects_do():
    state = State(cards(4), rules(ProjectRule(1, 1), ProjectRule(2, 2), ProjectRule(3, 2)))
    for number in range(1, 13):
        project = number % 3 + 1
        state = ask(state, number, project, project, at_s=T0 + number)
    state, _ = run(state, T0 + 99)
    assert [held(state, project) for project in (1, 2, 3)] == [2, 1, 1]


def test_who_needs_all_the_time_they_ask_for_gets_it():
    """An instant plus a length, less the instant, is not quite the length: nobody waits for ever for that."""
    exactly = {"wanted_s": 939.9584417967981, "least_s": 939.9584417967981}
    state = ask(State(cards(1)), 1, 1, 1, at_s=T0 + 0.1787608, **exactly)
    assert granted(run(state, T0 + 7.3)[1]) == [1]


def test_start_or_hold_is_kept_with_the_request():
    request = Request(1, 1, 1, Shape(), T0, OnGrant.START)
    state, _ = run(events.ask(State(cards(1)), request), T0)
    assert state.leases[1].request.on_grant is OnGrant.START
