"""`bancada lab create|list|show|change|archive|add-lead|remove-lead`: labs and who leads them."""

import argparse
from typing import Any

from sqlalchemy.orm import Session

from bancada_hub.cli.limits import KEPT, add_limit_options, chosen, limits_model, limits_words
from bancada_hub.cli.shares import add_lab_verbs
from bancada_hub.cli.table import add_verb, moment, rows, say
from bancada_hub.cli.where import opened
from bancada_hub.errors import PeopleError
from bancada_hub.naming import checked_title
from bancada_hub.projects.labs import add_lab_lead, archive_lab, change_lab, create_lab, remove_lab_lead
from bancada_hub.projects.limits import LAB_LIMITS, change_lab_limits, cpu_limit, memory_limit
from bancada_hub.roles import Action, Actor
from bancada_hub.store import labs, projects, trace
from bancada_hub.store.finding import lab_for


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("lab", help="labs: create, list, show, change, archive, and who leads them")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    create = add_verb(verbs, "create", "make a lab", _create)
    add_verb(verbs, "list", "which labs there are", _list)
    show = add_verb(verbs, "show", "a lab with its leads and projects", _show)
    change = add_verb(verbs, "change", "change a lab's title or limits", _change)
    archive = add_verb(verbs, "archive", "close a lab whose projects are archived; nothing is deleted", _archive)
    archive.add_argument("--undo", action="store_true", help="open it again")
    add = add_verb(verbs, "add-lead", "make a person a lead of a lab", _add_lead)
    remove = add_verb(verbs, "remove-lead", "take the lead of a lab from a person", _remove_lead)
    for verb in (create, show, change, archive, add, remove):
        verb.add_argument("slug", help="the lab's short name: a-z, 0-9 and hyphen; first a letter")
    create.add_argument("--title", help="what pages call it; the short name by default")
    change.add_argument("--title", help="what pages call it")
    add_limit_options(change)
    add_lab_verbs(verbs)
    for verb in (add, remove):
        verb.add_argument("name", help="the person's account name")


def _create(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    lab = create_lab(store, Actor.command_line(), arguments.slug, arguments.title or arguments.slug)
    words = f"Made the lab {lab.slug}, “{lab.title}”.\nGive it a lead: ./bancada lab add-lead {lab.slug} NAME"
    with store.read() as session:
        return say(arguments, _row(session, lab), words)


def _list(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    with store.read() as session:
        found = [_row(session, lab) for lab in labs.labs(session)]
    cells = [
        (row["slug"], row["title"], "archived" if row["archived_at"] else "in use", ", ".join(row["leads"]))
        for row in found
    ]
    return say(arguments, found, rows(("lab", "title", "state", "leads"), cells))


def _show(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    with store.read() as session:
        lab = lab_for(session, Actor.command_line(), arguments.slug, Action.SEE_LAB)
        row = _row(session, lab)
        inside = projects.all_projects(session, lab_id=lab.id)
        cells = [
            (
                each.slug,
                each.title,
                "archived" if each.archived_at else "in use",
                projects.count_members(session, each.id),
            )
            for each in inside
        ]
    state = " (archived)" if lab.archived_at else ""
    head = f"{lab.slug}: {lab.title}{state}\nleads: {', '.join(row['leads']) or 'none'}\n{limits_words(lab)}"
    return say(arguments, row, f"{head}\n\n{rows(('project', 'title', 'state', 'members'), cells)}")


def _change(arguments: argparse.Namespace) -> int:
    limited = (arguments.max_memory_gib, arguments.max_cpus) != (KEPT, KEPT)
    if arguments.title is None and not limited:
        msg = "Nothing was said that is to change."
        raise PeopleError(msg, fix="Use --title, --max-memory-gib or --max-cpus.")
    _installation, store = opened(arguments)
    actor = Actor.command_line()
    if arguments.title is not None:
        with trace.refusals(store, actor, "lab.change", f"lab:{arguments.slug}"):
            checked_title(arguments.title)  # so that nothing is changed when a part cannot be
    with store.read() as session:
        lab = lab_for(session, actor, arguments.slug, Action.CHANGE_LAB)
    words = []
    if limited:
        with trace.refusals(store, actor, LAB_LIMITS, f"lab:{lab.slug}"):
            gib = arguments.max_memory_gib
            memory = lab.max_memory_bytes if gib is KEPT else memory_limit(gib)
            new = labs.LabLimits(memory, cpu_limit(chosen(arguments.max_cpus, lab.max_cpus)))
        lab = change_lab_limits(store, actor, lab.slug, lab.version, new)
        words.append(f"The limits of the lab {lab.slug} are set: {limits_words(lab)}.")
    if arguments.title is not None:
        lab = change_lab(store, actor, lab.slug, arguments.title)
        words.append(f"The lab {lab.slug} is now called “{lab.title}”.")
    with store.read() as session:
        return say(arguments, _row(session, lab), "\n".join(words))


def _archive(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    lab = archive_lab(store, Actor.command_line(), arguments.slug, archived=not arguments.undo)
    words = f"The lab {lab.slug} is {'archived' if lab.archived_at else 'in use again'}."
    with store.read() as session:
        return say(arguments, _row(session, lab), words)


def _add_lead(arguments: argparse.Namespace) -> int:
    person = add_lab_lead(opened(arguments)[1], Actor.command_line(), arguments.slug, arguments.name)
    words = f"{person.name} leads the lab {arguments.slug}."
    return say(arguments, {"lab": arguments.slug, "name": person.name, "lead": True}, words)


def _remove_lead(arguments: argparse.Namespace) -> int:
    person = remove_lab_lead(opened(arguments)[1], Actor.command_line(), arguments.slug, arguments.name)
    words = f"{person.name} no longer leads the lab {arguments.slug}."
    return say(arguments, {"lab": arguments.slug, "name": person.name, "lead": False}, words)


def _row(session: Session, lab: labs.Lab) -> dict[str, Any]:
    return {
        "slug": lab.slug,
        "title": lab.title,
        "created_at": moment(lab.created_at),
        "archived_at": moment(lab.archived_at),
        **limits_model(lab),
        "leads": [person.name for person in labs.lab_leads(session, lab.id)],
        "projects": [project.slug for project in projects.all_projects(session, lab_id=lab.id)],
    }
