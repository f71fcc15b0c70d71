"""What administrators decide about a card: out of service, shared, kept for a project or lab.

Nobody's server is stopped by it: whoever holds the card keeps it until their lease ends, and nobody new gets it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from bancada_hub.errors import NotFound, PeopleError, Told, told
from bancada_hub.gpus.inventory import LEAST_PREFIX, Inventory
from bancada_hub.naming import shown
from bancada_hub.roles import Action, Actor
from bancada_hub.store import cards, incidents, labs, leases, projects, trace
from bancada_hub.store.cards import Mark, SeenCard, Signed, StoredCard
from bancada_hub.store.database import Store
from bancada_hub.store.standing import require

MOST_TENANTS = 16
LONGEST_REASON = 200


@dataclass(frozen=True)
class Marking:
    """Who marks which card, and why.

    Args:
        actor: Who.
        card: Its UUID, or the beginning of one, as it was typed.
        reason: Why, in their words.
        found: The machine's cards.
        now_s: The instant.
    """

    actor: Actor
    card: str
    reason: str
    found: Inventory
    now_s: float


@dataclass(frozen=True)
class Marked:
    """What came of it.

    Args:
        card: The card as it is kept now.
        held: How many leases hold it, and go on.
    """

    card: StoredCard
    held: int


@dataclass(frozen=True)
class Reserved:
    """Whom a card is kept for: a project or a lab, by short name; both empty for nobody."""

    project: str = ""
    lab: str = ""


def take_out(store: Store, marking: Marking) -> Marked:
    """Take a card out of service: nobody new gets it.

    Raises:
        PeopleError: The actor may not, there is no such card, or no reason is given.
    """
    with _marking(store, marking, "gpu.out") as (session, card):
        if not marking.reason.strip():
            raise PeopleError(
                told("No reason is given for taking the card out of service."),
                fix=told("Say why: people who wait read it."),
            )
        return _set(session, marking, card, replace(card.mark, out=True))


def put_back(store: Store, marking: Marking) -> Marked:
    """Put a card back into service.

    Raises:
        PeopleError: The actor may not, or there is no such card.
    """
    with _marking(store, marking, "gpu.back") as (session, card):
        return _set(session, marking, card, replace(card.mark, out=False))


def share(store: Store, marking: Marking, tenants: int) -> Marked:
    """Let several hold a card at once, without any protection of their memory from each other; 1 ends that.

    Raises:
        PeopleError: The actor may not, there is no such card, it cannot be shared, or somebody holds it.
    """
    with _marking(store, marking, "gpu.share", tenants=tenants) as (session, card):
        if isinstance(tenants, bool) or not 1 <= tenants <= MOST_TENANTS:
            what = told("A card can be shared by 2 to %(most)s; 1 ends the sharing.", most=MOST_TENANTS)
            raise PeopleError(what, fix=told("Choose another number."))
        if tenants > 1 and (not card.seen.whole or _in_parts(marking.found, card.seen.uuid)):
            what = told("This card is divided into parts (MIG): each part has an owner and memory of its own.")
            raise PeopleError(what, fix=told("Share a whole card, or end the MIG mode of this one."))
        held = leases.holders_of(session, card.seen.uuid)
        if tenants != card.mark.tenants and held:
            what = told("Somebody holds this card: how many may share it is changed only while nobody does.")
            fix = told("Take it out of service, and change it once it is free: ./bancada gpu out UUID --reason …")
            raise PeopleError(what, fix=fix)
        return _set(session, marking, card, replace(card.mark, tenants=tenants))


def reserve(store: Store, marking: Marking, reserved: Reserved) -> Marked:
    """Keep a card for a project or for a lab's projects; for neither, everybody may get it again.

    Raises:
        PeopleError: The actor may not, there is no such card, project or lab, or both are named.
    """
    with _marking(store, marking, "gpu.reserve", project=reserved.project, lab=reserved.lab) as (session, card):
        if reserved.project and reserved.lab:
            raise PeopleError(
                told("A card is kept for a project or for a lab, not for both."), fix=told("Name one of them.")
            )
        project_id, lab_id = _project(session, reserved.project), _lab(session, reserved.lab)
        detail = {"card": card.seen.uuid, "lab": reserved.lab}
        trace.ledger(session, trace.NewLedgerEntry("gpu.reserved", project_id, marking.actor.person_id, detail))
        return _set(session, marking, card, replace(card.mark, project_id=project_id, lab_id=lab_id))


def forget(store: Store, marking: Marking) -> str:
    """Forget a card that has left the machine for good; returns its UUID.

    Raises:
        PeopleError: The actor may not, it was never seen, it is in the machine, or somebody holds it.
    """
    with _marking(store, marking, "gpu.forget") as (session, card):
        there = {uuid for each in marking.found.cards for uuid in (each.uuid, *(part.uuid for part in each.instances))}
        if card.seen.uuid in there:
            what = told("This card is in the machine.")
            raise PeopleError(what, fix=told("Take it out of service instead: ./bancada gpu out UUID --reason …"))
        if leases.holders_of(session, card.seen.uuid):
            what = told("A lease of this card has not ended.")
            raise PeopleError(what, fix=told("End it first: ./bancada gpu free REQUEST --reason …"))
        cards.forget_card(session, card.seen.uuid)
        for each in incidents.open_incidents(session):
            if each.card == card.seen.uuid:
                incidents.close_incident(session, each.id, marking.now_s, marking.actor.name)
        return card.seen.uuid


def resulting(marked: Marked) -> Told | None:
    """Return what happens to those who hold a marked card; None when nobody does."""
    if not marked.held:
        return None
    return told("Whoever holds it keeps it until their lease ends, and nobody's server is stopped.")


@contextmanager
def _marking(store: Store, marking: Marking, action: str, **detail: object) -> Iterator[tuple[Session, StoredCard]]:
    """Run one change of a card: who may, which card, and its row in the audit."""
    uuid, unknown = _named(store, marking)
    with trace.change(store, marking.actor, action, f"gpu:{uuid}") as made:
        require(made.session, marking.actor, Action.MANAGE_GPUS)
        if unknown is not None:
            raise unknown
        if len(marking.reason) > LONGEST_REASON or not marking.reason.isprintable():
            what = told("The reason has to be one line of at most %(most)s characters.", most=LONGEST_REASON)
            raise PeopleError(what, fix=told("Shorten it."))
        stored = cards.stored_cards(made.session).get(uuid) or StoredCard(_seen(marking.found, uuid))
        made.detail |= {**detail, "reason": marking.reason.strip()}
        yield made.session, stored


def _set(session: Session, marking: Marking, card: StoredCard, mark: Mark) -> Marked:
    signed = Signed(marking.reason.strip(), marking.actor.name, marking.now_s)
    cards.set_mark(session, card.seen, mark, signed)
    return Marked(replace(card, mark=mark, signed=signed), len(leases.holders_of(session, card.seen.uuid)))


def _named(store: Store, marking: Marking) -> tuple[str, PeopleError | None]:
    """Return the UUID that was meant, of the cards and parts in the machine and those that were; or why there is none.

    Never the card that merely has this number.
    """
    with store.read() as session:
        names = set(cards.stored_cards(session))
    names |= {uuid for card in marking.found.cards for uuid in (card.uuid, *(part.uuid for part in card.instances))}
    asked = marking.card.lower()
    if exact := [name for name in names if name.lower() == asked]:
        return exact[0], None
    matches: Callable[[str], bool] = lambda name: asked in {name[: len(asked)], name.partition("-")[2][: len(asked)]}  # noqa: E731
    found = [name for name in names if len(asked) >= LEAST_PREFIX and matches(name.lower())]
    if len(found) == 1:
        return found[0], None
    given = shown(marking.card)
    if found:
        several = told("More than one card begins with %(uuid)s.", uuid=given)
        return given, NotFound(several, fix=told("Give more of it."))
    return given, NotFound(
        told("There is no card %(uuid)s.", uuid=given), fix=told("See what there is: ./bancada gpu list")
    )


def _seen(found: Inventory, uuid: str) -> SeenCard:
    for card in found.cards:
        if card.uuid == uuid:
            return SeenCard(uuid, found.source, whole=True, model=card.model or "", memory_bytes=card.memory_bytes or 0)
        for part in card.instances:
            if part.uuid == uuid:
                return SeenCard(uuid, found.source, False, part.name or "", part.memory_bytes or 0)
    return SeenCard(uuid, found.source)


def _in_parts(found: Inventory, uuid: str) -> bool:
    return any(card.uuid == uuid and card.mig for card in found.cards)


def _project(session: Session, slug: str) -> int | None:
    if not slug:
        return None
    project = projects.find_project(session, slug)
    if project is None or project.personal or project.archived_at:
        what = told("There is no project “%(slug)s” in use that a card can be kept for.", slug=shown(slug))
        raise NotFound(what, fix=told("See which there are: ./bancada project list"))
    return project.id


def _lab(session: Session, slug: str) -> int | None:
    if not slug:
        return None
    lab = labs.find_lab(session, slug)
    if lab is None or lab.archived_at:
        what = told("There is no lab “%(slug)s” in use.", slug=shown(slug))
        raise NotFound(what, fix=told("See which there are: ./bancada lab list"))
    return lab.id
