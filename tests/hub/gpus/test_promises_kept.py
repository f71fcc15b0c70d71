"""Guarantees are met within their stated time whatever others ask for, and nobody starves: played with random labs."""

import heapq
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from bancada_hub.gpus.scheduling import events
from bancada_hub.gpus.scheduling.preview import problems_of
from bancada_hub.gpus.scheduling.rules import DAY_S, ProjectRule, Purpose, Timed
from bancada_hub.gpus.scheduling.schedule import Pass
from bancada_hub.gpus.scheduling.values import Shape, State
from tests.hub.gpus.town import HOUR, T0, ask, cards, rules

SETTLE_S = 120.0


class Lab:
    """Plays arrivals and ends in order; leases last a random part of what they were given for, or all of it."""

    def __init__(self, state: State, seed: int) -> None:
        self.state, self.rng, self.now_s = state, Random(seed), T0
        self.due_since: dict[int, float] = {}
        self.asked: dict[int, float] = {}
        self.worst: dict[int, float] = {}
        self.waited: list[float] = []
        self.moments: list[tuple[float, int, str, object]] = []
        self.count = 0

    def at(self, at_s: float, what: str, value: object = None) -> None:
        self.count += 1
        heapq.heappush(self.moments, (at_s, self.count, what, value))

    def play(self, until_s: float) -> None:
        while self.moments and self.moments[0][0] <= until_s:
            self.now_s, _, what, value = heapq.heappop(self.moments)
            if what == "ask":
                self.state = events.ask(self.state, value)
                self.asked[value.id] = self.now_s
            elif what == "release":
                self.state = events.release(self.state, value, self.now_s)
            self._decide()

    def _decide(self) -> None:
        going = Pass(self.state, self.now_s)
        decisions = going.decide()
        self.state = events.apply(self.state, decisions)
        for grant in decisions.grants:
            lease = grant.lease
            self.state = events.claim(self.state, lease.id, self.now_s)
            self.waited.append(self.now_s - self.asked[lease.id])
            part = self.rng.choice([0.02, 0.3, 1.0, 1.0])
            length_s = (lease.ends_s - self.now_s) * part
            self.at(self.now_s + length_s + self.rng.uniform(0, SETTLE_S), "release", lease.id)
        self._watch({grant.lease.request.project_id for grant in decisions.grants})

    def _watch(self, served: set[int]) -> None:
        """Note for how long each project has had something due without being served."""
        due = {d.request.project_id for d in dues_of(self.state, self.now_s)}
        for project in list(self.due_since):
            waited_s = self.now_s - self.due_since[project]
            self.worst[project] = max(self.worst.get(project, 0.0), waited_s)
            if project in served or project not in due:
                del self.due_since[project]
        for project in due:
            self.due_since.setdefault(project, self.now_s)


def dues_of(state: State, now_s: float) -> list:
    going = Pass(state, now_s)
    projects = [rule.project_id for rule in going.promises.terms.projects.values() if rule.guarantee]
    return [due for project in projects for due in going._dues(project)]


@st.composite
def labs(draw):
    count = draw(st.integers(2, 6))
    left, projects = count, []
    for project in range(1, draw(st.integers(2, 4)) + 1):
        guarantee = draw(st.integers(0, min(2, left)))
        left -= guarantee
        within_s = draw(st.sampled_from([1, 2, 4, 12, 24])) * HOUR
        weight = draw(st.sampled_from([1.0, 1.0, 3.0]))
        projects.append(ProjectRule(project, 1, weight=weight, guarantee=guarantee, within_s=within_s))
    ceiling = draw(st.sampled_from([None, count, max(1, count - left)]))
    limits = rules(*projects, ceiling=ceiling, settle_s=SETTLE_S)
    if draw(st.booleans()) and left:
        raised = draw(st.integers(1, len(projects)))
        until = T0 + draw(st.integers(1, 40)) * HOUR
        more = projects[raised - 1].guarantee + 1
        limits = rules(*projects, settle_s=SETTLE_S, timed=(Timed(project_id=raised, until_s=until, guarantee=more),))
    return State(cards(count), limits), draw(st.integers(0, 10**6))


def fill(lab: Lab, hours: int) -> None:
    rng = lab.rng
    projects = list(lab.state.rules.projects)
    for number in range(1, 60):
        project = rng.choice(projects)
        purpose = rng.choice([Purpose.INTERACTIVE, Purpose.TRAINING])
        shape = Shape(
            cards=rng.choice([1, 1, 1, 2]),
            purpose=purpose,
            wanted_s=rng.choice([2, 8, 60, 168]) * HOUR,
            least_s=rng.choice([0.25, 1, 1, 4, 24]) * HOUR,
        )
        at_s = T0 + rng.uniform(0, hours) * HOUR
        request = ask(State(), number, project, project * 10 + rng.randrange(2), at_s=at_s).waiting.by_id[number]
        lab.at(at_s, "ask", type(request)(number, project, request.person_id, shape, at_s))


@given(labs())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_guarantees_are_met_within_their_time(made):
    """Whoever has a guarantee and asks for it is served within its time; nobody's lease was ended before its end."""
    state, seed = made
    assert problems_of(state.rules, state.cards, T0) == []
    lab = Lab(state, seed)
    fill(lab, hours=72)
    lab.play(T0 + 30 * DAY_S)
    for project, waited_s in lab.worst.items():
        assert waited_s <= state.rules.projects[project].within_s + 1, (project, waited_s / HOUR)
