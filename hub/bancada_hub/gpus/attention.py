"""Leases that need attention: their server has gone, and their card is not seen free; and what an administrator does.

A lease is never ended by the passing of time. When its card cannot be seen free, because something is still on it or
because the card does not answer, somebody has to look, and say so.
"""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from bancada_hub.errors import NotFound, PeopleError, Told, told
from bancada_hub.gpus import broker
from bancada_hub.gpus.inventory import Card, Inventory
from bancada_hub.gpus.lab import read_lab
from bancada_hub.gpus.marks import LONGEST_REASON
from bancada_hub.gpus.watching import held_leases
from bancada_hub.roles import Action, Actor
from bancada_hub.store import incidents, people, projects, requests, trace
from bancada_hub.store.database import Store
from bancada_hub.store.standing import require

MIB = 2**20


@dataclass(frozen=True)
class Attention:
    """A lease that somebody has to look at.

    Args:
        request_id: Its number.
        person: Whose it was: the account name.
        title: What pages call them.
        project: The project's title.
        cards: Its cards.
        seen: What is seen on each.
    """

    request_id: int
    person: str
    title: str
    project: str
    cards: tuple[str, ...]
    seen: tuple[Told, ...]


@dataclass(frozen=True)
class Looking:
    """Who looked, and what they found.

    Args:
        actor: Who.
        reason: What they found, in their words.
        now_s: The instant.
    """

    actor: Actor
    reason: str
    now_s: float


def needing_attention(session: Session, found: Inventory) -> list[Attention]:
    """Return the leases whose server has gone and whose cards are not seen free, the oldest first.

    Args:
        session: A session.
        found: The cards as they were just read.
    """
    return [
        _attention(session, found, each.request, each.cards)
        for each in held_leases(session)
        if each.gone and not each.is_over(found)
    ]


def free_lease(store: Store, looking: Looking, request_id: int, found: Inventory) -> Attention:
    """End a lease after a look: its cards go to whoever is next.

    Args:
        store: The database.
        looking: Who looked.
        request_id: The lease.
        found: The cards as they were just read; what is on them goes into the audit.

    Raises:
        PeopleError: The actor may not, gives no reason, there is no such lease, or its server has not gone.
    """
    with trace.change(store, looking.actor, "gpu.free", f"request:{request_id}") as made:
        session = made.session
        require(session, looking.actor, Action.MANAGE_GPUS)
        made.detail["reason"] = _reason(looking)
        lease = next((each for each in held_leases(session) if each.request == request_id), None)
        if lease is None:
            what = told("No lease %(id)s is held by a server.", id=request_id)
            raise NotFound(what, fix=told("See who has what: ./bancada gpu list"))
        if not lease.gone:
            what = told("The server that holds lease %(id)s has not gone.", id=request_id)
            raise PeopleError(what, fix=told("Stop it first: its person, or an administrator of the machine, can."))
        attention = _attention(session, found, request_id, lease.cards)
        made.detail |= {"cards": list(lease.cards), "seen": [str(each) for each in attention.seen]}
        request = requests.find_request(session, request_id)
        if request is not None:
            detail = {"request": request_id, "cards": list(lease.cards)}
            trace.ledger(session, trace.NewLedgerEntry("gpu.freed", request.project_id, request.person_id, detail))
        broker.release(session, read_lab(session, found), request_id, looking.now_s)
        return attention


def say_well(store: Store, looking: Looking, number: int) -> incidents.Incident:
    """End an incident after a look; should the same still be wrong at the next look of the clock, it begins anew.

    Raises:
        PeopleError: The actor may not, gives no reason, or no such incident lasts.
    """
    with trace.change(store, looking.actor, "gpu.well", f"incident:{number}") as made:
        require(made.session, looking.actor, Action.MANAGE_GPUS)
        made.detail["reason"] = _reason(looking)
        incident = incidents.find_incident(made.session, number)
        if incident is None or not incidents.close_incident(made.session, number, looking.now_s, looking.actor.name):
            what = told("No incident %(id)s lasts.", id=number)
            raise NotFound(what, fix=told("See which do: ./bancada gpu incidents"))
        made.detail |= {"card": incident.card, "cause": incident.cause}
        return incident


def _reason(looking: Looking) -> str:
    reason = looking.reason.strip()
    if not reason or len(reason) > LONGEST_REASON or not reason.isprintable():
        what = told("Say what you found, in one line of at most %(most)s characters.", most=LONGEST_REASON)
        raise PeopleError(what, fix=told("Whoever looks next reads it in the audit."))
    return reason


def _attention(session: Session, found: Inventory, request_id: int, uuids: tuple[str, ...]) -> Attention:
    request = requests.find_request(session, request_id)
    assert request is not None  # noqa: S101 - a lease has its request's number
    person, project = people.get_person(session, request.person_id), projects.get_project(session, request.project_id)
    seen = tuple(_seen(found, uuid) for uuid in uuids)
    return Attention(request_id, person.name, person.shown_name, project.title, uuids, seen)


def _seen(found: Inventory, uuid: str) -> Told:
    for card in found.cards:
        if card.uuid == uuid:
            return _on_card(card)
        for part in card.instances:
            if part.uuid == uuid and part.used_bytes is not None:
                return told("%(mib)s MiB of memory", mib=part.used_bytes // MIB)
    return told("it does not answer")


def _on_card(card: Card) -> Told:
    if card.processes is None or card.used_bytes is None:
        return told("it does not say what is on it")
    if not card.processes:
        return told("%(mib)s MiB of memory", mib=card.used_bytes // MIB)
    numbers = ", ".join(str(each) for each in card.processes[:8])
    return told("processes %(numbers)s, %(mib)s MiB of memory", numbers=numbers, mib=card.used_bytes // MIB)
