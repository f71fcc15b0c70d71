"""What the page GPUs and REST show of cards beside what is read of them: decisions, incidents, what needs attention."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from bancada_hub.errors import Told
from bancada_hub.gpus.attention import Attention, needing_attention
from bancada_hub.gpus.inventory import ABSENT, Cause, Inventory
from bancada_hub.gpus.remedies import admin_fix, card_name
from bancada_hub.roles import Standing
from bancada_hub.store import cards, incidents, labs, people, projects
from bancada_hub.store.cards import StoredCard
from bancada_hub.store.database import Store
from bancada_hub.store.incidents import Incident
from bancada_hub.ui.language import Words

BROKEN = ABSENT | {Cause.REPAIR_FAILED, Cause.XID}


@dataclass(frozen=True)
class CardState:
    """What was decided about a card, and what has failed.

    Args:
        out: Whether nobody new gets it.
        tenants: How many may hold it at once.
        reserved: Whether it is kept for somebody.
        whom: For whom, as its form has it: `project:` or `lab:` and a short name; empty for everybody, and for readers
            who do not know them.
        title: The title of that project or lab.
        reason: Why it was marked so.
        by: Who marked it.
        troubles: What has failed and not recovered.
        broken: Whether that is the card itself; otherwise something about it needs attention.
    """

    out: bool = False
    tenants: int = 1
    reserved: bool = False
    whom: str = ""
    title: str = ""
    reason: str = ""
    by: str = ""
    troubles: tuple[Told, ...] = ()
    broken: bool = False


@dataclass(frozen=True)
class IncidentView:
    """An incident, as administrators see it.

    Args:
        incident: The incident.
        name: What the card is called; empty for all cards.
        fix: What is to be done; None once it is over.
        held: Who held the card: their names and projects.
    """

    incident: Incident
    name: str
    fix: Told | None
    held: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Choices:
    """Whom a card can be kept for: (value, title) of labs and of projects."""

    labs: tuple[tuple[str, str], ...] = ()
    projects: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class CardsView:
    """All of it.

    Args:
        states: By UUID.
        machine: What is wrong with all cards.
        attention: Leases that somebody has to look at; for administrators.
        incidents: The newest; for administrators.
        choices: Whom a card can be kept for; for administrators.
    """

    states: dict[str, CardState] = field(default_factory=dict)
    machine: tuple[Told, ...] = ()
    attention: tuple[Attention, ...] = ()
    incidents: tuple[IncidentView, ...] = ()
    choices: Choices = Choices()

    def of(self, uuid: str) -> CardState:
        """Return what there is to say of a card, or of a MIG instance."""
        return self.states.get(uuid, CardState())


def read_cards(store: Store, found: Inventory, standing: Standing) -> CardsView:
    """Return what one reader may see.

    Args:
        store: The database.
        found: The cards as they were read.
        standing: The reader's.
    """
    with store.read() as session:
        lasting = incidents.open_incidents(session)
        troubles = {each.card: tuple(one for one in lasting if one.card == each.card) for each in lasting}
        stored = cards.stored_cards(session)
        names = {*stored, *(uuid for uuid in troubles if uuid)}
        states = {uuid: _state(session, stored.get(uuid), troubles.get(uuid, ()), standing) for uuid in sorted(names)}
        machine = tuple(each.words for each in troubles.get("", ()))
        if not standing.admin:
            return CardsView(states, machine)
        return CardsView(
            states,
            machine,
            tuple(needing_attention(session, found)),
            tuple(_incident(session, each) for each in incidents.latest_incidents(session)),
            _choices(session),
        )


def _state(session: Session, card: StoredCard | None, lasting: tuple[Incident, ...], standing: Standing) -> CardState:
    words, broken = tuple(each.words for each in lasting), any(each.cause in BROKEN for each in lasting)
    if card is None:
        return CardState(troubles=words, broken=broken)
    mark, known = card.mark, None
    if mark.project_id is not None:
        project = projects.get_project(session, mark.project_id)
        if standing.admin or project.id in standing.projects | standing.project_leads:
            known = (f"project:{project.slug}", project.title)
    elif mark.lab_id is not None:
        lab = labs.get_lab(session, mark.lab_id)
        if standing.admin or lab.id in standing.labs | standing.lab_leads:
            known = (f"lab:{lab.slug}", lab.title)
    reserved = mark.project_id is not None or mark.lab_id is not None
    whom, title = known or ("", "")
    return CardState(mark.out, mark.tenants, reserved, whom, title, card.signed.reason, card.signed.by, words, broken)


def _incident(session: Session, incident: Incident) -> IncidentView:
    held = tuple(
        (people.get_person(session, person_id).shown_name, projects.get_project(session, project_id).title)
        for _, project_id, person_id in incident.held
    )
    fix = admin_fix(Cause(incident.cause), incident.card) if incident.ended_s is None else None
    return IncidentView(incident, card_name(session, incident.card) if incident.card else "", fix, held)


def _choices(session: Session) -> Choices:
    found = [each for each in labs.labs(session) if not each.archived_at]
    inside = [each for each in projects.all_projects(session) if not each.archived_at and not each.personal]
    return Choices(
        tuple((f"lab:{each.slug}", each.title) for each in found),
        tuple((f"project:{each.slug}", each.title) for each in inside),
    )


def cards_json(found: Inventory, view: CardsView, words: Words) -> dict[str, Any]:
    """Return the cards for programs."""
    uuids = [(each.uuid, "", each.model or "", each.memory_bytes or 0) for each in found.cards]
    uuids += [
        (part.uuid, card.uuid, part.name or "", part.memory_bytes or 0)
        for card in found.cards
        for part in card.instances
    ]
    uuids += [(each.uuid, "", "", 0) for each in found.set_aside if each.uuid]
    aside = {each.uuid for each in found.set_aside}
    return {
        "source": found.source,
        "reason": words.gettext(found.reason) if found.reason else "",
        "cards": [
            {
                "uuid": uuid,
                "parent": parent,
                "model": model,
                "memory_bytes": memory_bytes,
                "answers": uuid not in aside,
                **_state_json(view.of(uuid), words),
            }
            for uuid, parent, model, memory_bytes in uuids
        ],
    }


def _state_json(state: CardState, words: Words) -> dict[str, Any]:
    return {
        "out": state.out,
        "tenants": state.tenants,
        "reserved": state.reserved,
        "reserved_for": state.whom,
        "reason": state.reason,
        "troubles": [words.gettext(each) for each in state.troubles],
    }


def incident_json(view: IncidentView, words: Words) -> dict[str, Any]:
    """Return an incident for programs."""
    incident = view.incident
    return {
        "incident": incident.id,
        "card": incident.card,
        "cause": incident.cause,
        "message": words.gettext(incident.words),
        "fix": words.gettext(view.fix) if view.fix else "",
        "from": _moment(incident.began_s),
        "until": _moment(incident.ended_s),
        "closed_by": incident.closed_by,
        "held": [{"person": person, "project": project} for person, project in view.held],
    }


def attention_json(attention: Attention, words: Words) -> dict[str, Any]:
    """Return a lease that somebody has to look at, for programs."""
    return {
        "request": attention.request_id,
        "person": attention.person,
        "project": attention.project,
        "cards": list(attention.cards),
        "seen": [words.gettext(each) for each in attention.seen],
    }


def _moment(at_s: float | None) -> str | None:
    return None if at_s is None else datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds")
