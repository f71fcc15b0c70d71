"""`bancada project create|list|show|ledger|change|archive|add|remove|lead|limits|rules|…`: projects, who is in them."""

import argparse
from typing import Any

from sqlalchemy.orm import Session

from bancada_hub.cli.limits import KEPT, add_limit_options, chosen, limits_model, limits_words
from bancada_hub.cli.shares import add_project_verbs
from bancada_hub.cli.table import add_verb, moment, rows, say
from bancada_hub.cli.where import opened
from bancada_hub.errors import PeopleError
from bancada_hub.naming import checked_title
from bancada_hub.projects.limits import change_project_limits, cpu_limit, memory_limit
from bancada_hub.projects.projects import (
    CHANGE,
    LIMITS,
    NewProject,
    add_member,
    archive_project,
    change_project,
    create_project,
    remove_member,
    set_lead,
)
from bancada_hub.roles import Action, Actor
from bancada_hub.store import labs, projects, trace
from bancada_hub.store.database import Store
from bancada_hub.store.finding import lab_for, project_for
from bancada_hub.store.granted import PAGE, Wanted, grants


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("project", help="projects: create, list, show, change, archive, and who is in them")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    create = add_verb(verbs, "create", "make a project in a lab", _create)
    listing = add_verb(verbs, "list", "which shared projects there are", _list)
    show = add_verb(verbs, "show", "a project with its people", _show)
    ledger = add_verb(verbs, "ledger", "what was granted in a project, the newest first", _ledger)
    ledger.add_argument("--limit", type=int, default=PAGE, metavar="N", help=f"how many rows at most ({PAGE})")
    change = add_verb(verbs, "change", "change a project's title, limits or network", _change)
    archive = add_verb(verbs, "archive", "close a project: nothing new starts, nothing is deleted", _archive)
    archive.add_argument("--undo", action="store_true", help="open it again")
    add = add_verb(verbs, "add", "add a person to a project", _add)
    remove = add_verb(verbs, "remove", "take a person out of a project", _remove)
    lead = add_verb(verbs, "lead", "make a member a lead of the project, or no longer", _lead)
    for verb in (create, show, ledger, change, archive, add, remove, lead):
        verb.add_argument("slug", help="the project's short name: a-z, 0-9 and hyphen; first a letter")
    for verb in (add, remove, lead):
        verb.add_argument("name", help="the person's account name")
    create.add_argument("--title", help="what pages call it; the short name by default")
    create.add_argument("--lead", action="append", default=[], metavar="NAME", help="a person who leads it")
    for verb in (create, listing):
        verb.add_argument("--lab", metavar="SLUG", help="its lab; the only one by default")
    change.add_argument("--title", help="what pages call it")
    add_limit_options(change)
    change.add_argument(
        "--egress", choices=projects.EGRESSES, help="where its servers may reach, from their next start"
    )
    add_project_verbs(verbs)
    add.add_argument("--lead", action="store_true", help="as a lead")
    lead.add_argument("--off", action="store_true", help="take the lead from them")


def _create(arguments: argparse.Namespace) -> int:
    installation, store = opened(arguments)
    new = NewProject(arguments.slug, arguments.title or arguments.slug, arguments.lab or _only_lab(store))
    project = create_project(store, installation.site, Actor.command_line(), new)
    for name in arguments.lead:
        add_member(store, Actor.command_line(), project.slug, name, lead=True)
    words = f"Made the project {project.slug}, “{project.title}”, in the lab {new.lab_slug}."
    if not arguments.lead:
        words += f"\nGive it a lead: ./bancada project add {project.slug} NAME --lead"
    with store.read() as session:
        return say(arguments, _row(session, project), words)


def _only_lab(store: Store) -> str:
    """Return the lab of a site with one.

    Raises:
        PeopleError: There is more than one, or none.
    """
    with store.read() as session:
        open_labs = [lab.slug for lab in labs.labs(session) if not lab.archived_at]
    if len(open_labs) == 1:
        return open_labs[0]
    if not open_labs:
        msg = "There is no lab in use."
        raise PeopleError(msg, fix="Make one: ./bancada lab create SLUG")
    msg = f"There are {len(open_labs)} labs."
    raise PeopleError(msg, fix=f"Say which one: --lab {open_labs[0]} (or {', '.join(open_labs[1:])})")


def _list(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    with store.read() as session:
        lab = lab_for(session, Actor.command_line(), arguments.lab, Action.SEE_LAB) if arguments.lab else None
        wanted = projects.all_projects(session, lab_id=lab.id if lab else None)
        found = [_row(session, project) for project in wanted]
    cells = [
        (
            row["slug"],
            row["title"],
            row["lab"] or "none",
            "archived" if row["archived_at"] else "in use",
            len(row["members"]),
        )
        for row in found
    ]
    return say(arguments, found, rows(("project", "title", "lab", "state", "members"), cells))


def _show(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    with store.read() as session:
        project = project_for(session, Actor.command_line(), arguments.slug, Action.SEE_PROJECT)
        row = _row(session, project)
    cells = [(member["name"], "lead" if member["lead"] else "member") for member in row["members"]]
    state = " (archived)" if row["archived_at"] else ""
    head = (
        f"{row['slug']}: {row['title']}{state}\nlab {row['lab'] or 'none'}, gid {row['gid']}\n{_limits_words(project)}"
    )
    return say(arguments, row, f"{head}\n\n{rows(('name', 'role'), cells)}")


def _ledger(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    with store.read() as session:
        project = project_for(session, Actor.command_line(), arguments.slug, Action.SEE_PROJECT)
        found = grants(session, Wanted((project.id,), limit=max(1, arguments.limit)))
    model = [
        {"id": row.id, "at": moment(row.at), "kind": row.kind, "person": row.person, "detail": row.detail}
        for row in found
    ]
    cells = [
        (moment(row.at), row.kind, row.person or "-", " ".join(f"{name}={value}" for name, value in row.detail.items()))
        for row in found
    ]
    words = rows(("at", "what", "who", "details"), cells) if cells else "Nothing was granted in it yet."
    return say(arguments, model, words)


def _change(arguments: argparse.Namespace) -> int:
    limited = (arguments.max_memory_gib, arguments.max_cpus, arguments.egress) != (KEPT, KEPT, None)
    if arguments.title is None and not limited:
        msg = "Nothing was said that is to change."
        raise PeopleError(msg, fix="Use --title, --max-memory-gib, --max-cpus or --egress.")
    _installation, store = opened(arguments)
    actor = Actor.command_line()
    if arguments.title is not None:
        with trace.refusals(store, actor, CHANGE, f"project:{arguments.slug}"):
            checked_title(arguments.title)  # so that nothing is changed when a part cannot be
    with store.read() as session:
        project = project_for(session, actor, arguments.slug, Action.CHANGE_PROJECT)
    words = []
    if limited:
        with trace.refusals(store, actor, LIMITS, f"project:{project.slug}"):
            wanted = _limits(arguments, project)
        project = change_project_limits(store, actor, project.slug, project.version, wanted)
        words.append(f"The limits of the project {project.slug} are set: {_limits_words(project)}.")
        words.append("They hold from each server's next start.")
    if arguments.title is not None:
        project = change_project(store, actor, project.slug, project.version, arguments.title)
        words.append(f"The project {project.slug} is now called “{project.title}”.")
    with store.read() as session:
        return say(arguments, _row(session, project), "\n".join(words))


def _limits(arguments: argparse.Namespace, project: projects.Project) -> projects.ProjectLimits:
    before = project.limits
    memory = before.max_memory_bytes
    if arguments.max_memory_gib is not KEPT:
        memory = memory_limit(arguments.max_memory_gib)
    cpus = cpu_limit(chosen(arguments.max_cpus, before.max_cpus))
    return projects.ProjectLimits(memory, cpus, arguments.egress or before.egress)


def _limits_words(project: projects.Project) -> str:
    return f"{limits_words(project)}; egress: {project.egress}"


def _archive(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    project = archive_project(store, Actor.command_line(), arguments.slug, archived=not arguments.undo)
    words = f"The project {project.slug} is in use again."
    if project.archived_at:
        words = (
            f"The project {project.slug} is archived: nothing new starts in it. What runs goes on until it is stopped."
        )
    with store.read() as session:
        return say(arguments, _row(session, project), words)


def _add(arguments: argparse.Namespace) -> int:
    store = opened(arguments)[1]
    member = add_member(store, Actor.command_line(), arguments.slug, arguments.name, lead=arguments.lead)
    words = f"{member.person.name} is in the project {arguments.slug}{', as a lead' if member.lead else ''}."
    return say(arguments, {"project": arguments.slug, "name": member.person.name, "lead": member.lead}, words)


def _remove(arguments: argparse.Namespace) -> int:
    person = remove_member(opened(arguments)[1], Actor.command_line(), arguments.slug, arguments.name)
    words = f"{person.name} is no longer in the project {arguments.slug}."
    return say(arguments, {"project": arguments.slug, "name": person.name, "member": False}, words)


def _lead(arguments: argparse.Namespace) -> int:
    store = opened(arguments)[1]
    member = set_lead(store, Actor.command_line(), arguments.slug, arguments.name, lead=not arguments.off)
    words = f"{member.person.name} {'leads' if member.lead else 'no longer leads'} the project {arguments.slug}."
    return say(arguments, {"project": arguments.slug, "name": member.person.name, "lead": member.lead}, words)


def _row(session: Session, project: projects.Project) -> dict[str, Any]:
    return {
        "slug": project.slug,
        "title": project.title,
        "lab": labs.get_lab(session, project.lab_id).slug if project.lab_id is not None else None,
        "gid": project.gid,
        "archived_at": moment(project.archived_at),
        "version": project.version,
        **limits_model(project),
        "egress": project.egress,
        "members": [
            {"name": member.person.name, "lead": member.lead} for member in projects.members(session, project.id)
        ],
    }
