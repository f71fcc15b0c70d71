"""One look at the cards' health: opens an incident for what is wrong, ends those that recovered, and tells people.

It looks at what is there, never at what it did before: whatever a crash cut short, the next look does, and once.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from bancada_hub.errors import Told, joined, told
from bancada_hub.gpus.faults import Fault, Held, Xid, faults_of, of_xid, over
from bancada_hub.gpus.inventory import ABSENT, Cause, Inventory
from bancada_hub.gpus.remedies import admin_fix, card_name, holder_fix
from bancada_hub.store import cards, incidents, leases, notices, people, projects, servers
from bancada_hub.store.cards import SeenCard
from bancada_hub.store.incidents import Holder, Incident, NewIncident
from bancada_hub.store.leases import StoredLease
from bancada_hub.store.requests import StoredRequest

WORK = "/services/bancada/"
GPUS = "/services/bancada/gpus"

AGAIN_S = 600.0
"""What fails again within so long after it recovered is the same incident: a card that comes and goes is told once."""


@dataclass(frozen=True)
class Looked:
    """What a look found.

    Args:
        found: The cards, with those that were expected.
        boot: The name of the machine's present start.
        xids: What the driver reported since the look before.
        blind: What servers say of cards that they cannot reach any more, by person and project.
        lingering: Leases whose cards were occupied at the look before as well: the driver takes a moment to let go.
    """

    found: Inventory
    boot: str = ""
    xids: tuple[Xid, ...] = ()
    blind: Mapping[tuple[str, str], Told] = field(default_factory=dict)
    lingering: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Noted:
    """What came of it.

    Args:
        changed: Whether an incident began or ended.
        occupied: Leases whose server has gone while something is still on their cards.
    """

    changed: bool
    occupied: frozenset[int] = frozenset()


def note(session: Session, looked: Looked, now_s: float) -> Noted:
    """Write down what is wrong and what has recovered, and tell whom it concerns.

    Args:
        session: A writing session.
        looked: What was found.
        now_s: The instant.
    """
    cards.keep_seen(session, _seen(looked.found), now_s)
    out = {uuid for uuid, card in cards.stored_cards(session).items() if card.mark.out}
    found = faults_of(looked.found, held_leases(session, looked.blind), out)
    occupied = frozenset(each.request for each in found if each.cause is Cause.OCCUPIED and each.request is not None)
    faults = [each for each in found if each.cause is not Cause.OCCUPIED or each.request in looked.lingering]
    faults += [fault for xid in looked.xids if (fault := of_xid(xid, looked.boot)) is not None]
    lasting = {(each.card, each.cause): each for each in incidents.open_incidents(session)}
    changed = [_open(session, fault, looked.found, now_s) for fault in _new(faults, lasting)]
    now = {fault.key for fault in faults}
    for incident in lasting.values():
        if over(incident, looked.found, now, looked.boot):
            incidents.close_incident(session, incident.id, now_s)
            _tell_recovered(session, incident)
            changed.append(True)
    return Noted(bool(changed), occupied)


def held_leases(session: Session, blind: Mapping[tuple[str, str], Told] | None = None) -> list[Held]:
    """Return the leases that servers have, or had when nobody has seen their cards free yet.

    Args:
        session: A session.
        blind: What servers say of cards that they cannot reach any more, by person and project.
    """
    running = {row.start_id: (row.person_name, row.project_slug) for row in servers.held(session)}
    claimed = [lease for lease, _ in leases.live_leases(session) if lease.server]
    found = []
    for lease in claimed:
        said = (blind or {}).get(running.get(lease.server, ("", "")))
        found.append(
            Held(lease.request_id, lease.cards, lease.server not in running, _beside(lease, claimed, running), said)
        )
    return found


def _beside(lease: StoredLease, claimed: Iterable[StoredLease], running: Collection[str]) -> bool:
    others = (each for each in claimed if each.request_id != lease.request_id and each.server in running)
    return any(not set(each.cards).isdisjoint(lease.cards) for each in others)


def holders(session: Session, fault: Fault, parts: Mapping[str, str]) -> list[tuple[StoredLease, StoredRequest]]:
    """Return the leases that a fault is about: the one it names, those of its card and its parts, or all.

    Args:
        session: A session.
        fault: The fault.
        parts: The cards of MIG instances, by the instance's UUID.
    """
    live = leases.live_leases(session)
    if fault.request is not None:
        return [each for each in live if each[0].request_id == fault.request]
    if not fault.card:
        return live
    return [each for each in live if any(fault.card in {uuid, parts.get(uuid)} for uuid in each[0].cards)]


def _new(faults: Iterable[Fault], lasting: Mapping[tuple[str, str], Incident]) -> list[Fault]:
    """Return the faults that no incident stands for; one that a card hides behind another way of being absent has."""
    found: dict[tuple[str, str], Fault] = {}
    for fault in faults:
        if fault.key not in lasting and not _hidden(fault, lasting):
            found.setdefault(fault.key, fault)
    return list(found.values())


def _hidden(fault: Fault, lasting: Mapping[tuple[str, str], Incident]) -> bool:
    return fault.cause in ABSENT and any((fault.card, cause.value) in lasting for cause in ABSENT)


def _open(session: Session, fault: Fault, found: Inventory, now_s: float) -> bool:
    parts = {part.uuid: card.uuid for card in found.cards for part in card.instances}
    held = holders(session, fault, parts)
    numbers: tuple[Holder, ...] = tuple(
        (lease.request_id, request.project_id, request.person_id) for lease, request in held
    )
    new = NewIncident(fault.card, fault.cause.value, fault.words, numbers, fault.detail)
    incident, is_new = incidents.open_incident(session, new, now_s, now_s - AGAIN_S)
    if is_new:
        _tell_admins(session, incident)
        _tell_holders(session, incident)
    return True


def _tell_admins(session: Session, incident: Incident) -> None:
    said = joined(incident.words, admin_fix(Cause(incident.cause), incident.card))
    if incident.card:
        said = told("The card %(card)s: %(what)s", card=card_name(session, incident.card), what=said)
    new = notices.NewNotice(said, notices.ERROR, action_label=told("Go to GPUs"), action_url=GPUS)
    for person in people.admins(session):
        notices.add_notice(session, person.id, new)


def _tell_holders(session: Session, incident: Incident) -> None:
    fix = holder_fix(Cause(incident.cause))
    if not fix:
        return
    for _, project_id, person_id in incident.held:
        title = projects.get_project(session, project_id).title
        said = told("Your GPU for %(project)s: %(what)s %(fix)s", project=title, what=incident.words, fix=fix)
        new = notices.NewNotice(said, notices.ERROR, action_label=told("Go to Work"), action_url=WORK)
        notices.add_notice(session, person_id, new)


def _tell_recovered(session: Session, incident: Incident) -> None:
    if Cause(incident.cause) in {Cause.OCCUPIED, Cause.SERVER, Cause.PARTS}:
        return  # it is over because its server has gone: nobody is helped by knowing
    said: Told = told("The NVIDIA driver of this host answers again.")
    if incident.card:
        said = told("%(card)s is well again; new work may get it.", card=card_name(session, incident.card))
    new = notices.NewNotice(said, notices.INFO, action_label=told("Go to GPUs"), action_url=GPUS)
    for person in people.admins(session):
        notices.add_notice(session, person.id, new)


def _seen(found: Inventory) -> Iterable[SeenCard]:
    for card in found.cards:
        yield SeenCard(card.uuid, found.source, True, card.model or "", card.memory_bytes or 0)
