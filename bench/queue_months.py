"""Three simulated months of a lab's GPU queue, against plain first come, first served.

    .venv/bin/python bench/queue_months.py [--days N]

What is simulated stands in SCENARIOS, below, and was written before the scheduler was run on it. All draw their jobs
from the same seeded generator, so that both schedulers serve the same people. Arrivals are a Poisson process, three
times as dense on working days from 9 to 19. Jobs last a lognormal time; people ask for 1.2 to 4 times what they will
need. A job that is not done when its lease ends asks for the rest again. Plain first come, first served gives cards in
the order of asking, lets nobody overtake, and lends for as long as was asked.

waits       hours that a job spent waiting until it was done, over all its requests; only jobs that were done count
use         part of all card-hours that was leased
fairness    Jain's index (1 is best) over projects of the cards that each had, by its weight, on average over all the
            time in which it and some other project had somebody waiting
late        guarantees: part of the requests that the guarantee covered when asked for, and in whose time neither they
            nor another request of their project were served
inside      part of the waits that fell into the range said when asked (one in five is asked about), wanted: 0.8
width       how wide those ranges were, median, hours; beside the median of the waits themselves
"""

import argparse
import heapq
import random
import statistics
import sys
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from bancada_hub.gpus.scheduling import events
from bancada_hub.gpus.scheduling.forecast import History, Outcome, Range
from bancada_hub.gpus.scheduling.placement import Board
from bancada_hub.gpus.scheduling.rules import DAY_S, HOUR_S, LabRule, ProjectRule, Purpose, Rules, Timed
from bancada_hub.gpus.scheduling.schedule import schedule
from bancada_hub.gpus.scheduling.values import Card, Decisions, Grant, Lease, Request, Shape, State
from bancada_hub.gpus.scheduling.why import Explainer, Reader

GIB = 2**30
START_S = 1_799_971_200.0  # a Monday, midnight
SEED = 20
CARDS = tuple(Card(f"GPU-{n}", 40 * GIB, numa=n // 4, switch=f"s{n // 2}") for n in range(8))
EVERYBODY = Reader(0, everything=True)
ASKED_ABOUT = 5
PROJECTS = {
    1: ProjectRule(1, 1, weight=2.0, guarantee=2, within_s=4 * HOUR_S),
    2: ProjectRule(2, 1, weight=1.0, guarantee=1, within_s=4 * HOUR_S),
    3: ProjectRule(3, 1, weight=1.0),
}
RULES = Rules(PROJECTS, {1: LabRule(1, len(CARDS))})


@dataclass(frozen=True)
class Stream:
    """Requests of one project.

    Args:
        project_id: The project.
        people: How many people ask.
        a_day: How many requests a day, on average.
        from_day: Since when.
        until_day: Until when.
    """

    project_id: int
    people: int
    a_day: float
    from_day: float = 0.0
    until_day: float = 1e9


@dataclass(frozen=True)
class Scenario:
    """A lab.

    Args:
        name: What it is called.
        rules: Its rules.
        streams: Who asks for how much.
    """

    name: str
    rules: Rules
    streams: tuple[Stream, ...]


RUSH = Timed(project_id=2, from_s=START_S + 40 * DAY_S, until_s=START_S + 50 * DAY_S, guarantee=5)
SCENARIOS = (
    Scenario("steady lab", RULES, (Stream(1, 4, 6), Stream(2, 3, 3), Stream(3, 3, 3))),
    Scenario(
        "deadline rush",
        replace(RULES, timed=(RUSH,)),
        (Stream(1, 4, 5), Stream(2, 3, 3), Stream(3, 3, 3), Stream(2, 3, 10, 40, 50)),
    ),
    Scenario("one heavy user", RULES, (Stream(1, 4, 4), Stream(2, 3, 2), Stream(3, 1, 14))),
)


@dataclass(frozen=True)
class Job:
    """A request, and how long it will really take."""

    request: Request
    needs_s: float


def jobs_of(scenario: Scenario, days: int) -> list[Job]:
    """Return everything that will be asked for, in order."""
    rng, found = random.Random(SEED), []
    for stream in scenario.streams:
        at_s = START_S + stream.from_day * DAY_S
        peak = stream.a_day / DAY_S * 3 / 1.6
        while (at_s := at_s + rng.expovariate(peak)) < START_S + min(days, stream.until_day) * DAY_S:
            when = datetime.fromtimestamp(at_s, UTC)
            busy = when.weekday() < 5 and 9 <= when.hour < 19
            if busy or rng.random() < 1 / 3:
                found.append((at_s, stream, rng.randrange(stream.people), rng.random()))
    return [_job(n, *each, rng) for n, each in enumerate(sorted(found, key=lambda each: each[0]), 1)]


def _job(number: int, at_s: float, stream: Stream, person: int, kind: float, rng: random.Random) -> Job:
    interactive = kind < 0.6
    middle_h, spread, most_h = (2.0, 0.8, 12.0) if interactive else (10.0, 1.0, 72.0)
    needs_s = min(most_h, max(0.1, rng.lognormvariate(0, spread) * middle_h)) * HOUR_S
    shape = Shape(
        cards=1 if interactive else rng.choice((1, 1, 1, 2, 4)),
        purpose=Purpose.INTERACTIVE if interactive else Purpose.TRAINING,
        wanted_s=min(most_h * HOUR_S, needs_s * rng.uniform(1.2, 4)),
        least_s=min(1.0 if interactive else 3.0, needs_s / HOUR_S) * HOUR_S,
    )
    return Job(Request(number, stream.project_id, stream.project_id * 10 + person, shape, at_s), needs_s)


def first_come(state: State, now_s: float) -> Decisions:
    """Decide as plain first come, first served does."""
    board, grants = Board.of(state.cards, state.leases.values()), []
    for request in sorted(state.waiting, key=lambda each: each.id):
        cards = board.place(request.shape, request.project_id)
        if cards is None:
            break
        uuids = tuple(card.uuid for card in cards)
        board.take(uuids)
        ends_s = now_s + request.shape.wanted_s
        grants.append(Grant(Lease(request, uuids, 1000 * len(cards), now_s, ends_s), ""))  # type: ignore[arg-type]
    return Decisions(now_s, grants=tuple(grants), use=replace(state.use, at_s=now_s))


@dataclass
class Lab:
    """A lab under way.

    Args:
        scenario: Its rules.
        ours: Whether the queue decides, or plain first come, first served.
        state: Where it stands.
    """

    scenario: Scenario
    ours: bool
    state: State
    needs_s: dict[int, float] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    waited_h: dict[int, float] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    busy_s: float = 0.0
    backlog_s: dict[int, float] = field(default_factory=dict)
    got_s: dict[int, float] = field(default_factory=dict)
    covered: dict[int, float] = field(default_factory=dict)
    served_s: dict[int, list[float]] = field(default_factory=dict)
    late: list[bool] = field(default_factory=list)
    history: History = field(default_factory=History)
    said: dict[int, tuple[Range, Range]] = field(default_factory=dict)
    hits: list[tuple[bool, float, float]] = field(default_factory=list)
    ending: list[tuple[float, int]] = field(default_factory=list)
    number: int = 1_000_000

    def play(self, jobs: list[Job], until_s: float) -> None:
        """Let everything happen up to an instant."""
        todo, now_s = deque(jobs), START_S
        while todo or self.ending:
            ask_s = todo[0].request.asked_s if todo else until_s
            end_s = self.ending[0][0] if self.ending else until_s
            next_s = min(ask_s, end_s, until_s)
            self._count(next_s - now_s)
            now_s = next_s
            if now_s >= until_s:
                return
            asked = None
            if self.ending and end_s <= ask_s:
                self._end(heapq.heappop(self.ending)[1], now_s)
            else:
                job = todo.popleft()
                asked = self._ask(job.request, job.needs_s)
            self._decide(now_s, asked)

    def _ask(self, request: Request, needs_s: float) -> Request:
        self.needs_s[request.id] = needs_s
        self.state = events.ask(self.state, request)
        rule = self.scenario.rules.projects[request.project_id]
        held = sum(lease.milli for lease in self._leases_of(request.project_id)) // 1000
        waits = sum(r.shape.cards for r in self.state.waiting if r.project_id == request.project_id)
        if held + waits <= rule.guarantee:
            self.covered[request.id] = request.asked_s + rule.within_s
        return request

    def _leases_of(self, project_id: int) -> list[Lease]:
        return [lease for lease in self.state.leases.values() if lease.request.project_id == project_id]

    def _end(self, lease_id: int, now_s: float) -> None:
        lease = self.state.leases[lease_id]
        self.state = events.release(self.state, lease_id, now_s)
        self.history = self.history.with_length(lease, now_s)
        left_s = self.needs_s[lease_id] - (now_s - lease.granted_s)
        if left_s > 60:
            self.number += 1
            shape = replace(lease.request.shape, wanted_s=max(left_s, 600.0), least_s=min(left_s, HOUR_S))
            self.first[self.number] = self.first.get(lease_id, lease_id)
            self._ask(replace(lease.request, id=self.number, shape=shape, asked_s=now_s), left_s)
        else:
            self.waits.append(self.waited_h.pop(self.first.get(lease_id, lease_id)))

    def _decide(self, now_s: float, asked: Request | None) -> None:
        decisions = schedule(self.state, now_s) if self.ours else first_come(self.state, now_s)
        if asked and self.ours and asked.id % ASKED_ABOUT == 0:
            self._foretell(asked.id, now_s)
        self.state = events.apply(self.state, decisions)
        for grant in decisions.grants:
            lease, waited_s = grant.lease, now_s - grant.lease.request.asked_s
            self.state = events.claim(self.state, lease.id, now_s)
            job = self.first.get(lease.id, lease.id)
            self.waited_h[job] = self.waited_h.get(job, 0.0) + waited_s / HOUR_S
            heapq.heappush(self.ending, (min(lease.ends_s, now_s + self.needs_s[lease.id]), lease.id))
            self.served_s.setdefault(lease.request.project_id, []).append(now_s)
            if lease.id in self.covered:
                self.late.append(self._is_late(lease.request, self.covered.pop(lease.id)))
            if lease.id in self.said:
                raw, said = self.said.pop(lease.id)
                width_h, inside = (said.high_s - said.low_s) / HOUR_S, said.low_s - 60 <= waited_s <= said.high_s + 60
                self.hits.append((inside, width_h, waited_s / HOUR_S))
                self.history = self.history.with_outcome(Outcome(raw, waited_s))

    def _is_late(self, request: Request, by_s: float) -> bool:
        """Return whether neither a request nor another of its project, which came before it, was served in time."""
        return not any(request.asked_s <= at_s <= by_s for at_s in self.served_s[request.project_id])

    def _foretell(self, request_id: int, now_s: float) -> None:
        history = self.history
        for number, (raw, _) in self.said.items():  # those still waiting that were told a shorter time count too
            waited_s = now_s - self.state.waiting.by_id[number].asked_s
            if waited_s > raw.high_s:
                history = history.with_outcome(Outcome(raw, waited_s))
        explainer = Explainer(self.state, now_s, history)
        if request_id in explainer.state.waiting.by_id:
            why = explainer.why(request_id, EVERYBODY)
            if why.raw is not None and why.wait is not None:
                self.said[request_id] = (why.raw, why.wait)

    def _count(self, length_s: float) -> None:
        """Count an interval in which nothing happened."""
        had: dict[int, int] = {}
        for lease in self.state.leases.values():
            had[lease.request.project_id] = had.get(lease.request.project_id, 0) + len(lease.cards)
        self.busy_s += length_s * sum(had.values())
        waiting = {pair[0] for pair in self.state.waiting.pairs}
        for project_id in waiting if len(waiting) > 1 else ():
            self.backlog_s[project_id] = self.backlog_s.get(project_id, 0.0) + length_s
            self.got_s[project_id] = self.got_s.get(project_id, 0.0) + length_s * had.get(project_id, 0)

    def fairness(self) -> float:
        """Return Jain's index over the projects."""
        shares = [self.got_s[each] / self.backlog_s[each] / PROJECTS[each].weight for each in sorted(self.backlog_s)]
        squares: float = sum(share * share for share in shares)
        return float(sum(shares)) ** 2 / (len(shares) * squares) if squares else 1.0


def show(lab: Lab, days: int) -> None:
    """Write a line about a lab that was played."""
    waits = sorted(lab.waits)
    use = lab.busy_s / (days * DAY_S * len(CARDS))
    late = f"{sum(lab.late) / len(lab.late):.3f}" if lab.late else "-"
    line = f"  {'queue' if lab.ours else 'first come':<11}{len(waits):>7}{statistics.mean(waits):>8.2f}"
    line += f"{waits[len(waits) // 2]:>8.2f}{waits[int(len(waits) * 0.95)]:>8.2f}{use:>7.3f}"
    line += f"{lab.fairness():>10.3f}{late:>8}"
    if lab.hits:
        width, middle = statistics.median(w for _, w, _ in lab.hits), statistics.median(w for _, _, w in lab.hits)
        line += f"{statistics.mean(float(inside) for inside, _, _ in lab.hits):>8.2f}{width:>7.1f} of {middle:.1f}"
    print(f"{line}  still waiting: {len(lab.state.waiting)}", flush=True)


def main() -> int:
    """Play all scenarios."""
    parser = argparse.ArgumentParser(description="Three simulated months, against plain first come, first served.")
    parser.add_argument("--days", type=int, default=90, help="how many days are played")
    days = parser.parse_args().days
    print((__doc__ or "").partition("\n\n")[2])
    heads = "".join(f"{name:>8}" for name in ("mean", "median", "p95"))
    print(f"  {'':<11}{'done':>7}{heads}{'use':>7}{'fairness':>10}{'late':>8}{'inside':>8}  width")
    for scenario in SCENARIOS:
        jobs = jobs_of(scenario, days)
        asked_s = sum(job.needs_s * job.request.shape.cards for job in jobs)
        print(f"{scenario.name}: {asked_s / (days * DAY_S * len(CARDS)):.2f} of all card-hours are asked for")
        for ours in (False, True):
            lab = Lab(scenario, ours, State(CARDS, scenario.rules))
            lab.play(jobs, START_S + days * DAY_S)
            show(lab, days)
    return 0


if __name__ == "__main__":
    sys.exit(main())
