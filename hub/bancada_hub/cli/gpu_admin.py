"""`bancada gpu out|back|share|reserve|forget|incidents|well|free`: what administrators do with cards."""

import argparse
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from bancada_hub.cli.table import add_verb, rows, say
from bancada_hub.cli.where import opened
from bancada_hub.gpus import marks
from bancada_hub.gpus.attention import Looking, free_lease, needing_attention, say_well
from bancada_hub.gpus.lab import known_inventory
from bancada_hub.gpus.marks import Marked, Marking, Reserved
from bancada_hub.roles import Actor
from bancada_hub.store import cards, incidents, labs, projects
from bancada_hub.store.cards import StoredCard
from bancada_hub.store.database import Store
from bancada_hub.store.incidents import Incident


def register(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verbs."""
    out = add_verb(verbs, "out", "take a card out of service: nobody new gets it, and its holder keeps it", _out)
    back = add_verb(verbs, "back", "put a card back into service", _back)
    share = add_verb(verbs, "share", "let several hold a card at once, with no memory protection", _share)
    reserve = add_verb(verbs, "reserve", "keep a card for a project or a lab", _reserve)
    forget = add_verb(verbs, "forget", "forget a card that left the machine for good", _forget)
    for verb in (out, back, share, reserve, forget):
        verb.add_argument("uuid", help="its UUID, or the first 8 characters or more of it")
        verb.add_argument("--reason", required=verb is out, default="", help="why; people who wait read it")
    share.add_argument("tenants", type=int, help="how many at once; 1 ends the sharing")
    whom = reserve.add_mutually_exclusive_group(required=True)
    whom.add_argument("--project", default="", help="the project's short name")
    whom.add_argument("--lab", default="", help="the lab's short name")
    whom.add_argument("--nobody", action="store_true", help="for nobody: everybody may get it again")
    add_verb(verbs, "incidents", "what failed, since when, until when", _incidents)
    well = add_verb(verbs, "well", "say that an incident is over, after a look", _well)
    well.add_argument("incident", type=int, help="its number")
    free = add_verb(verbs, "free", "end a lease whose server has gone, after a look at its card", _free)
    free.add_argument("request", type=int, help="its number")
    for verb in (well, free):
        verb.add_argument("--reason", required=True, help="what you found")


def _out(arguments: argparse.Namespace) -> int:
    store, marking = _marking(arguments)
    marked = marks.take_out(store, marking)
    return _say(arguments, store, marked, f"{marked.card.seen.uuid} is out of service: nobody new gets it.")


def _back(arguments: argparse.Namespace) -> int:
    store, marking = _marking(arguments)
    marked = marks.put_back(store, marking)
    return _say(arguments, store, marked, f"{marked.card.seen.uuid} is in service.")


def _share(arguments: argparse.Namespace) -> int:
    store, marking = _marking(arguments)
    marked = marks.share(store, marking, arguments.tenants)
    uuid, most = marked.card.seen.uuid, marked.card.mark.tenants
    shared = f"{uuid} is shared by at most {most}, with no memory protection from each other."
    return _say(arguments, store, marked, shared if most > 1 else f"{uuid} has one holder at a time.")


def _reserve(arguments: argparse.Namespace) -> int:
    store, marking = _marking(arguments)
    marked = marks.reserve(store, marking, Reserved(arguments.project, arguments.lab))
    whom = (
        f"kept for the project {arguments.project}"
        if arguments.project
        else f"kept for the lab {arguments.lab}" if arguments.lab else "for everybody"
    )  # fmt: skip
    return _say(arguments, store, marked, f"{marked.card.seen.uuid} is {whom}.")


def _forget(arguments: argparse.Namespace) -> int:
    store, marking = _marking(arguments)
    uuid = marks.forget(store, marking)
    return say(arguments, {"uuid": uuid, "forgotten": True}, f"{uuid} is forgotten.")


def _incidents(arguments: argparse.Namespace) -> int:
    installation, store = opened(arguments)
    found = known_inventory(store, installation.facts.simulated_gpus)
    with store.read() as session:
        known = incidents.latest_incidents(session)
        attention = needing_attention(session, found)
    value = {
        "incidents": [incident_json(each) for each in known],
        "attention": [
            {"request": each.request_id, "person": each.person, "cards": list(each.cards), "seen": list(each.seen)}
            for each in attention
        ],
    }
    cells = [
        (each.id, each.card or "all cards", each.cause, _moment(each.began_s), _moment(each.ended_s) or "lasts")
        for each in known
    ]
    table = rows(("incident", "card", "cause", "from", "until"), cells) if cells else "Nothing has failed."
    said = [f"incident {each.id}: {each.words}" for each in known if each.ended_s is None]
    said += [
        f"lease {each.request_id} of {each.person} needs attention: {', '.join(each.seen)}. After you looked: "
        f"./bancada gpu free {each.request_id} --reason …"
        for each in attention
    ]
    return say(arguments, value, "\n".join([table, *said]))


def _well(arguments: argparse.Namespace) -> int:
    _, store = opened(arguments)
    incident = say_well(store, _looking(arguments), arguments.incident)
    return say(arguments, {"incident": incident.id, "over": True}, f"Incident {incident.id} is over.")


def _free(arguments: argparse.Namespace) -> int:
    installation, store = opened(arguments)
    found = known_inventory(store, installation.facts.simulated_gpus)
    freed = free_lease(store, _looking(arguments), arguments.request, found)
    value = {"request": freed.request_id, "cards": list(freed.cards), "seen": list(freed.seen)}
    return say(arguments, value, f"Lease {freed.request_id} is over; on its cards: {', '.join(freed.seen)}.")


def _marking(arguments: argparse.Namespace) -> tuple[Store, Marking]:
    installation, store = opened(arguments)
    found = known_inventory(store, installation.facts.simulated_gpus)
    return store, Marking(Actor.command_line(), arguments.uuid, arguments.reason, found, time.time())


def _looking(arguments: argparse.Namespace) -> Looking:
    return Looking(Actor.command_line(), arguments.reason, time.time())


def _say(arguments: argparse.Namespace, store: Store, marked: Marked, words: str) -> int:
    then = marks.resulting(marked)
    with store.read() as session:
        mark = marked.card.mark
        project = projects.get_project(session, mark.project_id).slug if mark.project_id is not None else ""
        lab = labs.get_lab(session, mark.lab_id).slug if mark.lab_id is not None else ""
    value = {
        "uuid": marked.card.seen.uuid,
        "out": mark.out,
        "tenants": mark.tenants,
        "project": project,
        "lab": lab,
        "reason": marked.card.signed.reason,
        "held": marked.held,
    }
    return say(arguments, value, f"{words} {then}" if then else words)


def notes_of(store: Store) -> dict[str, str]:
    """Return what there is to say of cards beside what is read of them: decisions and failures, by UUID."""
    found: dict[str, list[str]] = {}
    with store.read() as session:
        for uuid, card in cards.stored_cards(session).items():
            found[uuid] = [*_decided(session, card)]
        for each in incidents.open_incidents(session):
            found.setdefault(each.card or "all cards", []).append(f"incident {each.id}: {each.words}")
    return {uuid: " · ".join(notes) for uuid, notes in found.items() if notes}


def _decided(session: Session, card: StoredCard) -> Iterator[str]:
    mark, why = card.mark, f" ({card.signed.reason})" if card.signed.reason else ""
    if mark.out:
        yield f"out of service{why}"
    if mark.tenants > 1:
        yield f"shared by at most {mark.tenants}, no memory protection"
    if mark.project_id is not None:
        yield f"kept for the project {projects.get_project(session, mark.project_id).slug}"
    if mark.lab_id is not None:
        yield f"kept for the lab {labs.get_lab(session, mark.lab_id).slug}"


def incident_json(incident: Incident) -> dict[str, Any]:
    """Return an incident for programs."""
    return {
        "incident": incident.id,
        "card": incident.card,
        "cause": incident.cause,
        "words": incident.words,
        "from": _moment(incident.began_s),
        "until": _moment(incident.ended_s),
        "closed_by": incident.closed_by,
    }


def _moment(at_s: float | None) -> str | None:
    return None if at_s is None else datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds")
