"""What pages, programs and the command line show of the queue: who holds which cards, who waits, and why."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from bancada_hub.errors import Told, joined
from bancada_hub.gpus import broker
from bancada_hub.gpus.inventory import Cause
from bancada_hub.gpus.lab import read_history
from bancada_hub.gpus.remedies import holder_fix
from bancada_hub.gpus.scheduling.forecast import Range
from bancada_hub.gpus.scheduling.placement import may_hold
from bancada_hub.gpus.scheduling.values import Lease, Request
from bancada_hub.gpus.scheduling.why import Explainer, Reader
from bancada_hub.store import incidents, leases, people, projects
from bancada_hub.store.standing import standing_of

MOST_EXPLAINED = 50
"""So many of those who wait are shown, each with its reason; how many more there are is said."""

SILENT_AFTER_S = 300.0
"""A server reports every 30 s; one that has not for so long hangs, or its link with the site does."""


@dataclass(frozen=True)
class Owner:
    """Whose a request or lease is, as far as the reader may know.

    Args:
        person: The account name; empty for somebody whom the reader does not know.
        title: What pages call them.
        project: The project's slug; empty with the person.
        project_title: Its title.
        own: Whether it is the reader's own.
        personal: Whether the project is somebody's personal one, which pages name in their own words.
    """

    person: str = ""
    title: str = ""
    project: str = ""
    project_title: str = ""
    own: bool = False
    personal: bool = False


@dataclass(frozen=True)
class Holds:
    """Cards that somebody has.

    Args:
        request_id: The request.
        owner: Whose.
        cards: UUIDs.
        since_s: Since when, in seconds since 1970.
        until_s: Until when at most.
        claim_by_s: Until when they wait for their owner to start; None once a server has them.
        may_end: Whether the reader may give them back before a server has taken them.
        trouble: What happened to its cards, and what its owner does; None while they are well.
        silent_since_s: When its server was heard of last, if that is long ago.
    """

    request_id: int
    owner: Owner
    cards: tuple[str, ...]
    since_s: float
    until_s: float
    claim_by_s: float | None
    may_end: bool
    trouble: Told | None = None
    silent_since_s: float | None = None


@dataclass(frozen=True)
class Waits:
    """Somebody who waits.

    Args:
        request_id: The request.
        owner: Whose.
        cards: How many cards.
        memory_bytes: Least memory of each.
        profile: A MIG size instead of whole cards; empty for whole ones.
        purpose: What for.
        asked_s: Since when.
        place: 1 is next.
        reason: What stands against it now.
        change: What would change that.
        wait: How long it may wait; None where nobody can say.
        may_end: Whether the reader may cancel it.
    """

    request_id: int
    owner: Owner
    cards: int
    memory_bytes: int
    profile: str
    purpose: str
    asked_s: float
    place: int
    reason: Told
    change: Told
    wait: Range | None
    may_end: bool


@dataclass(frozen=True)
class Board:
    """The queue at one instant.

    Args:
        holds: Who has cards, by request.
        waits: Who waits, the next first; at most MOST_EXPLAINED of them.
        more: How many more wait.
        total: Cards in service.
        free: Those of them that nobody has.
    """

    holds: tuple[Holds, ...] = ()
    waits: tuple[Waits, ...] = ()
    more: int = 0
    total: int = 0
    free: int = 0

    def of_card(self, uuid: str) -> tuple[Holds, ...]:
        """Return who has a card, or a MIG instance."""
        return tuple(each for each in self.holds if uuid in each.cards)

    def own_wait(self, project: str) -> Waits | None:
        """Return the reader's own place in the queue for a project."""
        return next((each for each in self.waits if each.owner.own and each.owner.project == project), None)

    def own_hold(self, project: str) -> Holds | None:
        """Return the reader's own cards in a project."""
        return next((each for each in self.holds if each.owner.own and each.owner.project == project), None)


def read_board(session: Session, lab: broker.Lab, person_id: int | None, now_s: float) -> Board:
    """Return the queue as one reader may see it.

    Args:
        session: A session.
        lab: The cards and rules.
        person_id: The reader; None for the machine's administrator, who may know of all.
        now_s: The instant.
    """
    state = broker.load(session, lab)
    if not state.waiting.by_id and not state.leases and not lab.cards:
        return Board()
    reader, managed = _reader(session, person_id)
    explainer = Explainer(state, now_s, read_history(session))
    known, troubles = _Names(session, reader), troubles_of(session)
    claimed = {lease.request_id: lease.renewed_s for lease, _ in leases.live_leases(session) if lease.server}
    holds = [
        replace(each, trouble=troubles.get(each.request_id), silent_since_s=_silent(claimed, each.request_id, now_s))
        for each in (_holds(lease, known, managed, claimed) for lease in explainer.state.leases.values())
    ]
    first = explainer.order[:MOST_EXPLAINED]
    own = [each for each in explainer.order[MOST_EXPLAINED:] if each.person_id == reader.person_id]
    waits = [_waits(explainer, request, reader, known, managed) for request in (*first, *own)]
    taken = {uuid for lease in explainer.state.leases.values() for uuid in lease.cards}
    usable = [card for card in lab.cards if card.usable]
    return Board(
        tuple(holds),
        tuple(waits),
        len(explainer.order) - len(waits),
        len(usable),
        sum(card.uuid not in taken for card in usable),
    )


def troubles_of(session: Session) -> dict[int, Told]:
    """Return what happened to the cards of leases, and what their owners do, by the lease's number."""
    found: dict[int, Told] = {}
    for incident in incidents.open_incidents(session):
        fix = holder_fix(Cause(incident.cause))
        for request_id, _, _ in incident.held if fix else ():
            found.setdefault(request_id, joined(incident.words, fix or incident.words))
    return found


def _silent(claimed: Mapping[int, float | None], request_id: int, now_s: float) -> float | None:
    heard_s = claimed.get(request_id)
    return heard_s if heard_s is not None and now_s - heard_s > SILENT_AFTER_S else None


def free_for(lab: broker.Lab, board: Board, project_id: int) -> tuple[int, int]:
    """Return how many whole cards a project could be given now, and how many at all."""
    taken = {uuid for each in board.holds for uuid in each.cards}
    suiting = [card for card in lab.cards if not card.profile and card.tenants == 1 and may_hold(card, project_id)]
    return sum(card.uuid not in taken for card in suiting), len(suiting)


def places_for(lab: broker.Lab, board: Board, project_id: int) -> tuple[int, int]:
    """Return how many places on shared cards a project could be given now, and how many at all."""
    shared = [card for card in lab.cards if card.tenants > 1 and may_hold(card, project_id)]
    free = sum(max(0, card.tenants - len(board.of_card(card.uuid))) for card in shared)
    return free, sum(card.tenants for card in shared)


def parts_for(lab: broker.Lab, board: Board, project_id: int) -> tuple[tuple[str, int, int], ...]:
    """Return each size of parts of cards (MIG) for a project, how many are free, and how many there are."""
    found: dict[str, list[bool]] = {}
    for card in lab.cards:
        if card.profile and may_hold(card, project_id):
            found.setdefault(card.profile, []).append(not board.of_card(card.uuid))
    return tuple((profile, sum(free), len(free)) for profile, free in sorted(found.items()))


def _reader(session: Session, person_id: int | None) -> tuple[Reader, frozenset[int] | None]:
    """Return who reads, and the projects in which they may end requests; None for all."""
    if person_id is None:
        return Reader(0, everything=True), None
    standing = standing_of(session, person_id)
    if standing.admin:
        return Reader(person_id, everything=True), None
    member_of = projects.projects_of(session, person_id)
    in_labs = {each.id for lab_id in standing.lab_leads for each in projects.all_projects(session, lab_id=lab_id)}
    managed = frozenset(standing.project_leads | in_labs)
    return Reader(person_id, frozenset({each.id for each in member_of} | managed)), managed


class _Names:
    """What people and projects are called, read once each."""

    def __init__(self, session: Session, reader: Reader) -> None:
        self._session, self._reader = session, reader
        self._people: dict[int, people.Person] = {}
        self._projects: dict[int, projects.Project] = {}

    def owner(self, request: Request) -> Owner:
        """Return whose a request is, as far as the reader may know."""
        if not self._reader.knows(request):
            return Owner()
        if request.person_id not in self._people:
            self._people[request.person_id] = people.get_person(self._session, request.person_id)
        if request.project_id not in self._projects:
            self._projects[request.project_id] = projects.get_project(self._session, request.project_id)
        person, project = self._people[request.person_id], self._projects[request.project_id]
        own = person.id == self._reader.person_id
        return Owner(person.name, person.shown_name, project.slug, project.title, own, project.personal)


def _may_end(owner: Owner, request: Request, managed: frozenset[int] | None) -> bool:
    return owner.own or managed is None or request.project_id in managed


def _holds(lease: Lease, known: _Names, managed: frozenset[int] | None, claimed: Collection[int]) -> Holds:
    owner = known.owner(lease.request)
    may_end = lease.id not in claimed and _may_end(owner, lease.request, managed)
    return Holds(lease.id, owner, lease.cards, lease.granted_s, lease.ends_s, lease.claim_by_s, may_end)


def _waits(
    explainer: Explainer, request: Request, reader: Reader, known: _Names, managed: frozenset[int] | None
) -> Waits:
    why, owner, shape = explainer.why(request.id, reader), known.owner(request), request.shape
    return Waits(
        request_id=request.id,
        owner=owner,
        cards=shape.cards,
        memory_bytes=shape.memory_bytes,
        profile=shape.profile,
        purpose=shape.purpose.value,
        asked_s=request.asked_s,
        place=why.place,
        reason=why.reason,
        change=why.change,
        wait=why.wait,
        may_end=_may_end(owner, request, managed),
    )
