"""Local accounts: names, passwords, and adding a person."""

import re
import secrets
from dataclasses import dataclass
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from bancada_hub.errors import PeopleError
from bancada_hub.site import Site
from bancada_hub.store import people, projects
from bancada_hub.store.database import Store

NAME = re.compile(r"[a-z][a-z0-9._-]{0,31}")
"""Names that passwd(5), a path, a URL and a host's log can all carry as they are."""

TAKEN_NAMES = frozenset({"root", "daemon", "nobody", "bancada"})
SHORTEST_PASSWORD = 15
"""Characters. NIST SP 800-63B-4 allows 8 beside a second factor and asks for 15 without one; generated ones have 20."""


@dataclass(frozen=True)
class NewAccount:
    """What a new person gets.

    Args:
        name: The account name.
        admin: Whether they run the site.
        password: Their password; None makes one.
        project_slugs: Shared projects to join, beside the personal one that everybody has.
    """

    name: str
    admin: bool = False
    password: str | None = None
    project_slugs: tuple[str, ...] = ()


def check_name(name: str) -> None:
    """Refuse a name that something later could not carry.

    Raises:
        PeopleError: Names what is wrong and a name that would do.
    """
    if name in TAKEN_NAMES:
        msg = f"The name “{name}” belongs to the system."
        raise PeopleError(msg, fix="Choose another name.")
    if not NAME.fullmatch(name):
        near = re.sub(r"[^a-z0-9._-]", "-", name.lower()).strip("-._")[:32]
        msg = (
            f"“{name}” cannot be an account name: 1 to 32 characters of a-z, 0-9, dot, underscore and hyphen, "
            "first a letter."
        )
        raise PeopleError(msg, fix=f"Try “{near}”." if NAME.fullmatch(near) else "")


def add_account(store: Store, site: Site, new: NewAccount) -> tuple[people.Person, str]:
    """Add a person with a local account.

    Returns:
        The person, and the password to tell them: it is kept nowhere.

    Raises:
        PeopleError: The name is taken or not possible, the password too short, or a project unknown.
    """
    check_name(new.name)
    password = new.password if new.password is not None else secrets.token_urlsafe(15)
    hashed = hash_password(password)
    first = people.FirstNumbers(site.people.uid_min, site.people.gid_min)
    with store.write() as session:
        if people.find_person(session, new.name):
            msg = f"There is an account “{new.name}” already."
            raise PeopleError(msg, fix="Choose another name; a name is never given twice.")
        person = people.add_person(session, new.name, hashed, admin=new.admin, first=first)
        for slug in new.project_slugs:
            project = projects.find_project(session, slug)
            if project is None or project.personal:
                msg = f"There is no project “{slug}”; nobody was added."
                raise PeopleError(msg)
            projects.add_member(session, project.id, person.id)
    return person, password


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password (RFC 9106, the library's current parameters).

    Raises:
        PeopleError: It is too short.
    """
    if len(password) < SHORTEST_PASSWORD:
        msg = f"The password has {len(password)} characters; {SHORTEST_PASSWORD} are needed."
        raise PeopleError(msg)
    return PasswordHasher().hash(password)


@cache
def _nobodys_hash() -> str:
    return PasswordHasher().hash(secrets.token_urlsafe(15))


def verify(store: Store, name: str, password: str) -> people.Person | None:
    """Return the person whose name and password these are, unless the account is disabled.

    An unknown name costs the same time as a wrong password, so that names cannot be guessed by the clock.
    """
    with store.read() as session:
        person = people.find_person(session, name)
    known = person.password_hash if person and person.password_hash else _nobodys_hash()
    try:
        PasswordHasher().verify(known, password)
    except (VerificationError, InvalidHashError):
        return None
    return None if person is None or person.disabled or person.password_hash is None else person
