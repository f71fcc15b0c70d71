"""`bancada user add|list|change|disable|enable|reset-password`: local accounts."""

import argparse
import sys
from datetime import UTC, datetime
from typing import Any

from bancada_hub.cli.table import add_verb, moment, rows, say
from bancada_hub.cli.where import opened
from bancada_hub.people.accounts import (
    NewAccount,
    add_account,
    disable_account,
    enable_account,
    reset_password,
    set_admin,
)
from bancada_hub.roles import Actor
from bancada_hub.store import people, projects


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("user", help="people: add, list, change, switch off and on, new passwords")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    add = add_verb(verbs, "add", "add a person with a local account and a personal project", _add)
    add.add_argument("name", help="a-z, 0-9, dot, underscore and hyphen; first a letter")
    add.add_argument("--admin", action="store_true", help="they run the site")
    add.add_argument("--project", action="append", default=[], metavar="SLUG", help="a shared project to join")
    add.add_argument("--display-name", default="", metavar="TEXT", help="what pages call them")
    add.add_argument("--keep-password", action="store_true", help="they need not change it at the first sign-in")
    add_verb(verbs, "list", "who has an account", _list)
    disable = add_verb(verbs, "disable", "switch an account off; what they have running is stopped", _disable)
    enable = add_verb(verbs, "enable", "switch an account on again", _enable)
    reset = add_verb(verbs, "reset-password", "give a person another password, to change at the next sign-in", _reset)
    change = add_verb(verbs, "change", "let somebody run the site, or no longer", _change)
    which = change.add_mutually_exclusive_group(required=True)
    which.add_argument("--admin", action="store_true", help="they run the site")
    which.add_argument("--no-admin", dest="admin", action="store_false", help="they no longer do")
    for verb in (disable, enable, reset, change):
        verb.add_argument("name", help="the account name")
    for verb in (add, reset):
        verb.add_argument("--password-stdin", action="store_true", help="read the password instead of making one")


def _add(arguments: argparse.Namespace) -> int:
    installation, store = opened(arguments)
    given = _given_password(arguments)
    new = NewAccount(
        arguments.name,
        admin=arguments.admin,
        password=given,
        project_slugs=tuple(arguments.project),
        display_name=arguments.display_name,
        must_change=not arguments.keep_password,
    )
    person, password = add_account(store, installation.site, Actor.command_line(), new)
    shown = {"name": person.name, "uid": person.uid, "admin": person.admin}
    words = [f"Added {person.name} (uid {person.uid}{', admin' if person.admin else ''})."]
    if given is None:
        shown["password"] = password
        words.append(f"Password, shown this once: {password}")
    if person.must_change_password:
        words.append("They choose their own at the first sign-in.")
    words.append(f"Sign in at {installation.site.url}")
    return say(arguments, shown, "\n".join(words))


def _list(arguments: argparse.Namespace) -> int:
    _installation, store = opened(arguments)
    now = datetime.now(UTC)
    with store.read() as session:
        found = [_row(person, projects.projects_of(session, person.id), now) for person in people.people(session)]
    cells = [(row["name"], row["uid"], row["state"], ", ".join(row["projects"])) for row in found]
    return say(arguments, found, rows(("name", "uid", "state", "projects"), cells))


def _disable(arguments: argparse.Namespace) -> int:
    person = disable_account(opened(arguments)[1], Actor.command_line(), arguments.name)
    words = f"{person.name} is switched off: no sign-in, no new start. The hub stops what runs within some ten seconds."
    return say(arguments, {"name": person.name, "disabled": True}, words)


def _enable(arguments: argparse.Namespace) -> int:
    person = enable_account(opened(arguments)[1], Actor.command_line(), arguments.name)
    return say(arguments, {"name": person.name, "disabled": False}, f"{person.name} is switched on.")


def _change(arguments: argparse.Namespace) -> int:
    person = set_admin(opened(arguments)[1], Actor.command_line(), arguments.name, admin=arguments.admin)
    words = f"{person.name} runs the site." if person.admin else f"{person.name} does not run the site."
    return say(arguments, {"name": person.name, "admin": person.admin}, words)


def _reset(arguments: argparse.Namespace) -> int:
    given = _given_password(arguments)
    password = reset_password(opened(arguments)[1], Actor.command_line(), arguments.name, given)
    if given is not None:
        words = f"{arguments.name} has the new password, and chooses their own at the next sign-in."
        return say(arguments, {"name": arguments.name}, words)
    words = f"Password of {arguments.name}, shown this once: {password}\nThey choose their own at the next sign-in."
    return say(arguments, {"name": arguments.name, "password": password}, words)


def _given_password(arguments: argparse.Namespace) -> str | None:
    return sys.stdin.readline().rstrip("\n") if arguments.password_stdin else None


def _row(person: people.Person, member_of: list[projects.Project], now: datetime) -> dict[str, Any]:
    locked = person.locked_until if person.locked_until and person.locked_until > now else None
    return {
        "name": person.name,
        "display_name": person.display_name,
        "uid": person.uid,
        "admin": person.admin,
        "disabled": person.disabled,
        "must_change_password": person.must_change_password,
        "locked_until": moment(locked),
        "state": _state(person, locked=locked is not None),
        "projects": [project.slug for project in member_of],
    }


def _state(person: people.Person, *, locked: bool) -> str:
    if person.disabled:
        return "disabled"
    if locked:
        return "locked"
    return "admin" if person.admin else "active"
