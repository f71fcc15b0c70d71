"""Figures for Prometheus: of the site, never of a person or a project, so that their number is bounded for ever."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from bancada_hub.gpus.broker import Lab
from bancada_hub.gpus.scheduling.rules import Purpose
from bancada_hub.gpus.scheduling.values import Health, Mark
from bancada_hub.store import incidents, leases, servers
from bancada_hub.store.queue_models import RequestRow
from bancada_hub.store.requests import RequestState, waiting_after

DECISION_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
CARD_STATES = ("free", "held", "out of service", "not well")


@dataclass(frozen=True)
class Figures:
    """What is counted at one instant.

    Args:
        cards: Cards by state, one of CARD_STATES.
        waiting: Requests that wait, by purpose.
        oldest_wait_s: How long the oldest of them has waited.
        leases: Leases by state: "running", or "to be claimed".
        closed: Requests that are over, by what became of them, since the beginning.
        incidents: Incidents of cards that last.
        servers: Servers that hold a share of the machine.
    """

    cards: dict[str, int]
    waiting: dict[str, int]
    oldest_wait_s: float
    leases: dict[str, int]
    closed: dict[str, int]
    incidents: int
    servers: int


def count(session: Session, lab: Lab, now_s: float) -> Figures:
    """Count.

    Args:
        session: A session.
        lab: The cards and rules.
        now_s: The instant.
    """
    waiting = waiting_after(session, 0)
    live = [lease for lease, _ in leases.live_leases(session)]
    held = {uuid for lease in live for uuid in lease.cards}
    cards = dict.fromkeys(CARD_STATES, 0)
    for card in lab.cards:
        well, out = card.health is Health.GOOD, card.mark is Mark.OUT
        cards["not well" if not well else "out of service" if out else "held" if card.uuid in held else "free"] += 1
    by_state = session.execute(select(RequestRow.state, func.count()).group_by(RequestRow.state)).all()
    over = {state.value: 0 for state in RequestState if state is not RequestState.WAITING}
    return Figures(
        cards=cards,
        waiting={each.value: sum(w.shape.get("purpose") == each.value for w in waiting) for each in Purpose},
        oldest_wait_s=max((now_s - each.asked_s for each in waiting), default=0.0),
        leases={
            "running": sum(bool(each.server) for each in live),
            "to be claimed": sum(not each.server for each in live),
        },
        closed=over | {state: number for state, number in by_state if state in over},
        incidents=len(incidents.open_incidents(session)),
        servers=len(servers.held(session)),
    )


class Metrics:
    """The site's figures as Prometheus reads them, and how long decisions of the queue took."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._decisions = Histogram(
            "bancada_gpu_decision_seconds",
            "How long a decision of the GPU queue took, with its transaction",
            buckets=DECISION_BUCKETS_S,
            registry=self._registry,
        )

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Count how long a decision takes."""
        with self._decisions.time():
            yield

    def text(self, figures: Figures) -> bytes:
        """Return everything in Prometheus' text format."""
        now = CollectorRegistry()
        now.register(_Now(figures))
        return generate_latest(now) + generate_latest(self._registry)


class _Now(Collector):
    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[GaugeMetricFamily]:
        found = self._figures
        closed = "Requests for GPUs that are over, by what became of them"
        for name, about, label, values in (
            ("bancada_gpu_cards", "GPUs, parts of them each by itself, by state", "state", found.cards),
            ("bancada_gpu_requests_waiting", "Requests for GPUs that wait, by purpose", "purpose", found.waiting),
            ("bancada_gpu_leases", "GPU leases that have not ended, by state", "state", found.leases),
            ("bancada_gpu_requests_closed", closed, "state", found.closed),
        ):
            family = GaugeMetricFamily(name, about, labels=[label])
            for value, number in sorted(values.items()):
                family.add_metric([value], number)
            yield family
        oldest = "For how long the oldest waiting request has waited"
        for name, about, figure in (
            ("bancada_gpu_oldest_wait_seconds", oldest, found.oldest_wait_s),
            ("bancada_gpu_incidents_open", "Incidents of GPUs that last", float(found.incidents)),
            ("bancada_servers_running", "Servers that hold a share of the machine", float(found.servers)),
        ):
            yield GaugeMetricFamily(name, about, value=figure)
