"""One look at the queue: what the clock finds, decides and writes, and what is then to be done outside the database.

It looks at what is there, never at what was decided before: whatever a crash cut short, the next look does.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from bancada_hub.errors import Told, told
from bancada_hub.gpus import broker
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.gpus.scheduling.values import Decisions, Health, OnGrant
from bancada_hub.gpus.watching import GPUS, WORK, held_leases
from bancada_hub.store import leases, notices, people, projects, requests, servers
from bancada_hub.store.leases import StoredLease
from bancada_hub.store.requests import StoredRequest, find_request

WARNED_S = 1800.0
"""So long before the end of a lease its holder is warned: enough for a checkpoint, and not yet forgotten."""


@dataclass(frozen=True)
class ToStart:
    """A grant whose owner asked for the server to start by itself."""

    request_id: int
    person: str
    project: str
    language: str


@dataclass(frozen=True)
class ToStop:
    """A server whose time with its cards is over."""

    request_id: int
    person: str
    project: str


@dataclass(frozen=True)
class Todo:
    """What is to be done outside the database.

    Args:
        starts: Servers to start.
        stops: Servers to stop.
        occupied: Leases whose server has gone while something is still on their cards.
        moved: Whether anything changed in the queue.
    """

    starts: tuple[ToStart, ...] = ()
    stops: tuple[ToStop, ...] = ()
    occupied: tuple[int, ...] = ()
    moved: bool = False


def settle(
    turn: broker.Turn, lab: broker.Lab, inventory: Inventory, now_s: float, stopping: Collection[int] = ()
) -> Todo:
    """End what is over, decide, and tell people.

    Args:
        turn: The transaction.
        lab: The cards and rules.
        inventory: The cards as they were just read.
        now_s: The instant.
        stopping: Leases whose people were told already that their time is over.
    """
    session = turn.session
    held = {row.start_id for row in servers.held(session)}
    gone = [each for each in held_leases(session) if each.gone]
    free = [each.request for each in gone if each.is_over(inventory)]
    for request_id in free:
        broker.release(session, lab, request_id, now_s)
    again = _ask_again(session, lab, now_s)
    for request_id in requests.barred_grants(session):  # no server of theirs will ever take it
        leases.end_lease(session, request_id, now_s)
    decisions = turn.decide(lab, now_s)
    announce(session, decisions)
    live = leases.live_leases(session)
    over = {end.lease_id: end.reason for end in decisions.ends}
    stops = [_stop(session, request) for lease, request in live if lease.request_id in over and lease.server in held]
    for stop in (each for each in stops if each.request_id not in stopping):
        _tell(session, stop.request_id, over[stop.request_id], notices.WARNING)
    for lease, request in live:
        if lease.server in held and is_near_its_end(lease, now_s):
            minutes = max(1, round((lease.ends_s - now_s) / 60))
            why = told("its time is over in %(n)s min, and the server stops then. Save your work.", n=minutes)
            _tell(session, request.id, why, notices.WARNING)
            leases.note_warned(session, request.id, lease.ends_s)
    starts = [_start(session, lease, request) for lease, request in live if _starts_by_itself(lease, request, now_s)]
    return Todo(
        tuple(starts),
        tuple(stops),
        tuple(each.request for each in gone if each.request not in free),
        moved=bool(free or again or decisions.drops or decisions.passed or decisions.grants or decisions.moves),
    )


def is_near_its_end(lease: StoredLease, now_s: float) -> bool:
    """Return whether a holder is to be warned of a lease's end, of which they were not warned yet.

    Half an hour before it, or in the last quarter of a short lease.

    Args:
        lease: The lease.
        now_s: The instant.
    """
    left_s, whole_s = lease.ends_s - now_s, lease.ends_s - lease.granted_s
    return 0 < left_s <= min(WARNED_S, whole_s / 4) and lease.warned_for_s != lease.ends_s


def announce(session: Session, decisions: Decisions, but: Collection[int] = ()) -> None:
    """Tell people what was decided about their requests.

    Args:
        session: A writing session.
        decisions: What was decided.
        but: Requests whose owners are being answered anyway.
    """
    for drop in decisions.drops:
        _tell(session, drop.request_id, drop.reason, notices.WARNING)
    for passed in decisions.passed:
        _tell(session, passed.lease_id, passed.reason, notices.WARNING)
    for grant in decisions.grants:
        if grant.lease.id not in but:
            _tell_granted(session, grant.lease.id)


def _ask_again(session: Session, lab: broker.Lab, now_s: float) -> bool:
    """Take grants back whose cards failed before a server had them; their owners keep their place in the queue.

    Returns:
        Whether there were any.
    """
    well = {card.uuid for card in lab.cards if card.health is Health.GOOD}
    broken = [each for each in leases.live_leases(session) if each[0].claim_by_s is not None]
    broken = [each for each in broken if not well.issuperset(each[0].cards)]
    for lease, request in broken:
        leases.end_lease(session, lease.request_id, now_s)
        new = requests.NewRequest(
            request.project_id, request.person_id, request.shape, request.on_grant, request.asked_s
        )
        requests.add_request(session, new)
        why = told(
            "The card that was granted to you failed before you started. You have your place in the queue again."
        )
        _tell(session, lease.request_id, why, notices.WARNING)
    return bool(broken)


def _starts_by_itself(lease: StoredLease, request: StoredRequest, now_s: float) -> bool:
    waits = lease.claim_by_s is not None and lease.claim_by_s > now_s
    return waits and request.on_grant == OnGrant.START


def _start(session: Session, lease: StoredLease, request: StoredRequest) -> ToStart:
    person, project = people.get_person(session, request.person_id), projects.get_project(session, request.project_id)
    return ToStart(lease.request_id, person.name, project.slug, person.language)


def _stop(session: Session, request: StoredRequest) -> ToStop:
    person, project = people.get_person(session, request.person_id), projects.get_project(session, request.project_id)
    return ToStop(request.id, person.name, project.slug)


def _tell_granted(session: Session, request_id: int) -> None:
    request = find_request(session, request_id)
    if request is None:
        return
    title = projects.get_project(session, request.project_id).title
    text = (
        told("Your GPU for %(project)s is there, and it starts now.", project=title)
        if request.on_grant == OnGrant.START
        else told("Your GPU for %(project)s is there. Start within a quarter of an hour.", project=title)
    )
    new = notices.NewNotice(text, action_label=told("Go to Work"), action_url=WORK)
    notices.add_notice(session, request.person_id, new)


def _tell(session: Session, request_id: int, why: Told, level: str) -> None:
    request = find_request(session, request_id)
    if request is not None:
        title = projects.get_project(session, request.project_id).title
        text = told("Your GPU for %(project)s: %(why)s", project=title, why=why)
        new = notices.NewNotice(text, level, action_label=told("Go to GPUs"), action_url=GPUS)
        notices.add_notice(session, request.person_id, new)
