"""The index of the queue, and that nobody in it waits for ever."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bancada_hub.gpus.scheduling import events
from bancada_hub.gpus.scheduling.rules import DAY_S, ProjectRule
from bancada_hub.gpus.scheduling.values import Request, Shape, State
from bancada_hub.gpus.scheduling.waiting import Waiting
from tests.hub.gpus.town import HOUR, T0, ask, cards, rules, run

STEPS = st.lists(
    st.one_of(
        st.builds(
            Request,
            id=st.integers(1, 20),
            project_id=st.integers(1, 2),
            person_id=st.integers(1, 2),
            shape=st.builds(Shape, cards=st.integers(1, 2)),
            asked_s=st.sampled_from([T0, T0 - 5, T0 + 5]),
        ),
        st.integers(1, 20),
    ),
    max_size=40,
)


@given(STEPS)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_index_is_the_same_however_it_came_about(steps):
    queue: Waiting[Request] = Waiting()
    for step in steps:
        before = queue
        queue = queue.add(step) if isinstance(step, Request) else queue.without([step, step])
        assert Waiting.of(before) == before, "a change leaves the one before as it was"
    assert queue == Waiting.of(queue)
    assert len(queue) == len(list(queue))


def play(state: State, wanted: int, stream, days: int) -> float:
    """Let a stream of requests come, all leases last to their end, and return when a request is granted at last."""
    number, now_s = 1000, T0
    while now_s < T0 + days * DAY_S:
        number += 1
        state = ask(state, number, *stream(number), at_s=now_s, wanted_s=3 * HOUR, least_s=HOUR / 4)
        state, decisions = run(state, now_s)
        for grant in decisions.grants:
            state = events.claim(state, grant.lease.id, now_s)
            if grant.lease.id == wanted:
                return now_s - T0
        now_s += HOUR / 2
        for lease in list(state.leases.values()):
            if lease.ends_s <= now_s:
                state = events.release(state, lease.id, now_s)
    raise AssertionError("it never came")


def test_many_small_requests_never_starve_a_large_one():
    """All cards, for a project that has used the most, against more small requests than can ever be served."""
    state = State(cards(4), rules(ProjectRule(1, 1, weight=0.01), ProjectRule(2, 1), patience_s=2 * DAY_S))
    assert play(ask(state, 1, 1, 1, cards=4), 1, lambda number: (2, number % 3), days=10) < 3 * DAY_S


def test_many_small_requests_of_ones_own_never_starve_a_large_one():
    state = State(cards(4), rules(ProjectRule(1, 1), patience_s=2 * DAY_S))
    assert play(ask(state, 1, 1, 1, cards=4), 1, lambda _: (1, 1), days=10) < DAY_S


def test_a_large_request_at_its_projects_limit_is_not_starved_by_small_ones_of_others_in_it():
    state = State(cards(6), rules(ProjectRule(1, 1, limit=4), patience_s=2 * DAY_S))
    state = ask(state, 1, 1, 1, cards=4, at_s=T0 + HOUR)
    assert play(state, 1, lambda number: (1, number % 3 + 2), days=10) < DAY_S


def test_a_heavy_user_is_served_in_the_end():
    state = State(cards(1), rules(ProjectRule(1, 1), ProjectRule(2, 1), patience_s=3 * DAY_S))
    state = State(state.cards, state.rules, use=type(state.use)(T0, {}, {1: 9e15}, {(1, 1): 9e15}))
    assert play(ask(state, 1, 1, 1), 1, lambda number: (2, number % 4), days=10) < 4 * DAY_S
