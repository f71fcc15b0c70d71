"""The queue under anything that may happen in any order, with a crash between any two steps."""

from dataclasses import replace

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bancada_hub.errors import Told
from bancada_hub.gpus.scheduling import events
from bancada_hub.gpus.scheduling.accounts import Holdings
from bancada_hub.gpus.scheduling.forecast import History
from bancada_hub.gpus.scheduling.limits import reached
from bancada_hub.gpus.scheduling.preview import preview
from bancada_hub.gpus.scheduling.rules import Hours, LabRule, ProjectRule, Purpose, Rules, Timed, terms_at
from bancada_hub.gpus.scheduling.schedule import schedule
from bancada_hub.gpus.scheduling.times import spans
from bancada_hub.gpus.scheduling.values import Card, Grant, Health, Lease, Mark, Request, Shape, State
from bancada_hub.gpus.scheduling.why import Explainer, Reader
from tests.hub.gpus.town import GIB, HOUR, T0, from_rows

PROJECTS, PEOPLE = (1, 2, 3, 4), (1, 2, 3)
INVENTORY = (
    *(Card(f"GPU-{n}", 40 * GIB, numa=n // 2, switch=f"s{n // 2}") for n in range(4)),
    Card("GPU-big", 80 * GIB, numa=2),
    Card("GPU-kept", 40 * GIB, mark=Mark.RESERVED, reserved_for=frozenset({3})),
    Card("GPU-shared", 24 * GIB, tenants=3),
    *(Card(f"MIG-{n}", 10 * GIB, profile="1g.10gb", parent=f"GPU-m{n % 2}", milli=142) for n in range(4)),
)
SHAPES = st.one_of(
    st.builds(
        Shape,
        cards=st.sampled_from([1, 1, 2, 3, 9]),
        memory_bytes=st.sampled_from([0, 0, 30 * GIB, 80 * GIB]),
        card=st.sampled_from(["", "", "", "GPU-2"]),
        purpose=st.sampled_from(list(Purpose)),
        wanted_s=st.sampled_from([HOUR, 8 * HOUR, 200 * HOUR]),
        least_s=st.sampled_from([60.0, HOUR, 5 * HOUR]),
    ),
    st.builds(Shape, profile=st.just("1g.10gb"), purpose=st.just(Purpose.INFERENCE)),
    st.builds(Shape, shared=st.just(True)),
)
LIMITS = st.sampled_from([None, 0, 1, 2, 4])
RULES = st.builds(
    lambda guarantees, limits, ceiling, person, timed, weight: Rules(
        projects={
            p: ProjectRule(p, 1 if p < 4 else None, weight, limit, person, guarantee, within)
            for p, (guarantee, within), limit in zip(PROJECTS, guarantees, limits, strict=True)
        },
        labs={1: LabRule(1, ceiling)},
        timed=timed,
        person_limit=person,
    ),
    st.tuples(*[st.tuples(st.integers(0, 2), st.sampled_from([HOUR, 6 * HOUR]))] * 4),
    st.tuples(*[LIMITS] * 4),
    LIMITS,
    LIMITS,
    st.lists(
        st.builds(
            Timed,
            project_id=st.sampled_from(PROJECTS),
            until_s=st.sampled_from([None, T0 + 9 * HOUR]),
            hours=st.sampled_from([None, Hours(frozenset({0, 1, 2, 3, 4}), 22 * 60, 600)]),
            guarantee=st.integers(0, 3),
        ),
        max_size=2,
    ).map(tuple),
    st.sampled_from([1.0, 0.2, 5.0]),
)


class Queue(RuleBasedStateMachine):
    """Rows, the clock, and a scheduler that may die after any number of its steps."""

    def __init__(self) -> None:
        super().__init__()
        self.state, self.now_s, self.number = State(INVENTORY), T0, 0
        self.claimed: set[int] = set()

    @initialize(rules=RULES)
    def set_up(self, rules: Rules) -> None:
        self.state = replace(self.state, rules=rules)

    @rule(project=st.sampled_from(PROJECTS), person=st.sampled_from(PEOPLE), shape=SHAPES)
    def ask(self, project, person, shape) -> None:
        self.number += 1
        self.state = events.ask(self.state, Request(self.number, project, person, shape, self.now_s))

    @rule(seconds=st.sampled_from([1.0, 30.0, 300.0, 590.0, HOUR, 9 * HOUR, 400 * HOUR, -1.0, -5 * HOUR, -300 * HOUR]))
    def clock(self, seconds) -> None:
        self.now_s += seconds

    @rule(crash_after=st.one_of(st.none(), st.integers(0, 6)))
    def decide(self, crash_after) -> None:
        decisions = schedule(self.state, self.now_s)
        assert schedule(self.state, self.now_s) == decisions
        assert schedule(from_rows(self.state, self.number), self.now_s) == decisions
        self._explained(decisions)
        before = self.state
        steps = events.steps_of(decisions)[:crash_after]
        if crash_after is None:
            self.state = replace(self.state, use=decisions.use)
        for step in steps:
            if isinstance(step, Grant):
                self._allowed(step.lease)
            self.state = events.apply_step(self.state, step)
            assert events.apply_step(self.state, step) == self.state
        for end in decisions.ends:
            assert before.leases[end.lease_id].ends_s <= self.now_s
        for gone in before.leases.keys() - self.state.leases.keys():
            assert before.leases[gone].claim_by_s is not None, "only what nobody claimed is taken away"

    def _explained(self, decisions) -> None:
        for made in (*decisions.drops, *decisions.passed, *decisions.ends, *decisions.moves, *decisions.grants):
            assert isinstance(made.reason, Told)
            assert str(made.reason)

    def _allowed(self, lease: Lease) -> None:
        """What is given is free, whole, suits, lasts as long as is of use, and goes beyond no limit."""
        request, rules = lease.request, self.state.rules
        there = {card.uuid: card for card in self.state.cards}
        assert len(set(lease.cards)) == request.shape.cards
        for uuid in lease.cards:
            card = there[uuid]
            assert card.usable
            assert request.shape.suits(card)
            assert card.mark is not Mark.RESERVED or request.project_id in card.reserved_for
        held = Holdings.of(self.state.leases.values(), terms_at(rules, self.now_s))
        assert reached(request, lease.milli, held, rules) is None
        wanted_s, least_s = spans(request.shape, rules)
        assert least_s - 1 <= lease.ends_s - self.now_s <= wanted_s + 1
        assert (request.project_id, request.person_id) not in self.state.barred

    @precondition(lambda self: self.state.leases)
    @rule(data=st.data(), what=st.sampled_from(["claim", "claim", "release", "dirty", "extend"]))
    def lease(self, data, what) -> None:
        number = data.draw(st.sampled_from(sorted(self.state.leases)))
        if what == "claim":
            self.state = events.claim(self.state, number, self.now_s)
            assert events.claim(self.state, number, self.now_s) == self.state
        elif what == "extend":
            lease = self.state.leases[number]
            until_s = events.extend(self.state, number, self.now_s + 90 * HOUR, self.now_s)
            assert until_s >= lease.ends_s
            self.state = replace(self.state, leases={**self.state.leases, number: replace(lease, ends_s=until_s)})
        else:
            uuids = self.state.leases[number].cards
            self.state = events.release(self.state, number, self.now_s, clear=what == "release")
            if what == "dirty":
                assert not any(card.usable for card in self.state.cards if card.uuid in uuids)

    @rule(data=st.data())
    def cancel(self, data) -> None:
        if self.state.waiting.by_id:
            number = data.draw(st.sampled_from(sorted(self.state.waiting.by_id)))
            self.state = events.cancel(self.state, number)
            assert number not in self.state.waiting.by_id

    @rule(pair=st.tuples(st.sampled_from(PROJECTS), st.sampled_from(PEOPLE)))
    def bar(self, pair) -> None:
        self.state = replace(self.state, barred=self.state.barred ^ {pair})

    @rule(uuid=st.sampled_from([card.uuid for card in INVENTORY]), health=st.sampled_from(list(Health)))
    def sicken(self, uuid, health) -> None:
        there = tuple(replace(c, health=health) if c.uuid == uuid else c for c in self.state.cards)
        self.state = replace(self.state, cards=there)

    @rule()
    def split_anew(self) -> None:
        """The MIG instances of one parent go away, and others come, whoever holds them."""
        rest = tuple(card for card in self.state.cards if card.parent != "GPU-m0")
        new = Card(f"MIG-new{self.number}", 10 * GIB, profile="1g.10gb", parent="GPU-m0", milli=142)
        self.state = replace(self.state, cards=(*rest, new))

    @rule(rules=RULES)
    def change_rules(self, rules) -> None:
        shown = preview(self.state, rules, History(), self.now_s)
        assert not {c.project_id for c in shown.gains} & {c.project_id for c in shown.waits}
        self.state = replace(self.state, rules=rules)

    @rule()
    def crash(self) -> None:
        self.state = from_rows(self.state, self.number)

    @rule()
    def explain(self) -> None:
        """Everybody who waits after a decision is told their place, why, and what would change it."""
        explainer = Explainer(self.state, self.now_s)
        again = Explainer(from_rows(self.state, self.number), self.now_s)
        left = set(self.state.waiting.by_id)
        left -= {g.lease.id for g in explainer.decisions.grants} | {d.request_id for d in explainer.decisions.drops}
        assert {request.id for request in explainer.order} == left
        for number in sorted(left)[:3]:
            why = explainer.why(number, Reader(self.state.waiting.by_id[number].person_id))
            assert again.why(number, Reader(self.state.waiting.by_id[number].person_id)) == why
            assert 1 <= why.place <= len(left)
            assert why.reason
            assert why.change
            assert len(why.ahead) + why.others == why.place - 1
            if why.wait is not None:
                assert 0 <= why.wait.low_s <= why.wait.middle_s <= why.wait.high_s

    @invariant()
    def nobody_shares_what_is_exclusive(self) -> None:
        taken: dict[str, int] = {}
        for lease in self.state.leases.values():
            for uuid in lease.cards:
                taken[uuid] = taken.get(uuid, 0) + 1
        there = {card.uuid: card.tenants for card in self.state.cards}
        assert all(count <= there.get(uuid, 1) for uuid, count in taken.items())

    @invariant()
    def nobody_waits_and_holds(self) -> None:
        assert not self.state.leases.keys() & self.state.waiting.by_id.keys()
        rows = {r.id for lines in self.state.waiting.pairs.values() for line in lines.values() for r in line}
        assert rows == set(self.state.waiting.by_id)


TestQueue = Queue.TestCase
TestQueue.settings = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # making an example small takes minutes here
)
