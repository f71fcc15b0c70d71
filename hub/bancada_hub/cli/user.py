"""`bancada user add|list`: local accounts."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from bancada_hub.cli.where import add_site_options, opened
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.roles import Actor
from bancada_hub.store import people, projects


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("user", help="add people, and see who has an account")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    add = verbs.add_parser("add", help="add a person with a local account and a personal project")
    add.add_argument("name", help="a-z, 0-9, dot, underscore and hyphen; first a letter")
    add.add_argument("--admin", action="store_true", help="they run the site")
    add.add_argument("--project", action="append", default=[], metavar="SLUG", help="a shared project to join")
    add.add_argument("--password-stdin", action="store_true", help="read the password instead of making one")
    listing = verbs.add_parser("list", help="who has an account")
    for verb, run in ((add, _add), (listing, _list)):
        add_site_options(verb)
        verb.add_argument("--json", action="store_true", help="for programs")
        verb.set_defaults(run=run)


def _add(arguments: argparse.Namespace) -> int:
    installation, store = opened(arguments)
    given = sys.stdin.readline().rstrip("\n") if arguments.password_stdin else None
    new = NewAccount(arguments.name, arguments.admin, given, tuple(arguments.project))
    person, password = add_account(store, installation.site, Actor.command_line(), new)
    if arguments.json:
        shown = {"name": person.name, "uid": person.uid, "admin": person.admin}
        _print(json.dumps(shown if given else shown | {"password": password}))
        return 0
    _print(f"Added {person.name} (uid {person.uid}{', admin' if person.admin else ''}).")
    if given is None:
        _print(f"Password, shown this once: {password}")
    _print(f"Sign in at {installation.site.url}")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    with store.read() as session:
        rows = [_row(person, projects.projects_of(session, person.id)) for person in people.people(session)]
    if arguments.json:
        _print(json.dumps(rows))
        return 0
    _print(f"{'name':<24} {'uid':<10} {'state':<10} projects")
    for row in rows:
        state = "disabled" if row["disabled"] else "admin" if row["admin"] else "active"
        _print(f"{row['name']:<24} {row['uid']:<10} {state:<10} {', '.join(row['projects'])}")
    return 0


def _row(person: people.Person, member_of: list[projects.Project]) -> dict[str, Any]:
    shown = {name: value for name, value in asdict(person).items() if name in {"name", "uid", "admin", "disabled"}}
    return shown | {"projects": [project.slug for project in member_of]}


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
