"""Local accounts: names, passwords, adding a person, switching accounts off.

A name is the key of a person, exactly as it is: nothing is lower-cased or cut to make two names one.
"""

import re
import secrets
from dataclasses import dataclass

from sqlalchemy.orm import Session

from bancada_hub.errors import NotFound, PeopleError, told
from bancada_hub.naming import ACCOUNT, checked_title, shown
from bancada_hub.people.passwords import SHORTEST_PASSWORD, hash_password
from bancada_hub.people.sign_in import SignIn, change_password, sign_in
from bancada_hub.roles import Action, Actor
from bancada_hub.site import Site
from bancada_hub.store import notices, people, projects, trace
from bancada_hub.store.database import Store
from bancada_hub.store.standing import require

__all__ = [
    "SHORTEST_PASSWORD",
    "NewAccount",
    "SignIn",
    "add_account",
    "change_password",
    "check_name",
    "disable_account",
    "enable_account",
    "reset_password",
    "set_admin",
    "set_preferences",
    "sign_in",
]

TAKEN_NAMES = frozenset({"root", "daemon", "nobody", "bancada"})
LANGUAGES = ("", "en", "pt-BR")
THEMES = ("", "light", "dark")

_PASSWORD_RESET = told(
    "An administrator gave your account a new password. If you did not ask for it, tell the person who runs this site."
)

_MADE_ADMIN = told("You run this site now: people, labs and settings are on Site.")


@dataclass(frozen=True)
class NewAccount:
    """What a new person gets.

    Args:
        name: The account name.
        admin: Whether they run the site.
        password: Their password; None makes one.
        project_slugs: Shared projects to join, beside the personal one that everybody has.
        display_name: What pages call them; empty for the account name.
        must_change: Whether they choose a password of their own at the first sign-in, as somebody else knows this one.
    """

    name: str
    admin: bool = False
    password: str | None = None
    project_slugs: tuple[str, ...] = ()
    display_name: str = ""
    must_change: bool = True


def check_name(name: str) -> None:
    """Refuse a name that something later could not carry.

    Raises:
        PeopleError: Names what is wrong and a name that would do.
    """
    if name in TAKEN_NAMES:
        msg = told("The name “%(name)s” belongs to the system.", name=name)
        raise PeopleError(msg, fix=told("Choose another name."))
    if not ACCOUNT.fullmatch(name):
        near = re.sub(r"[^a-z0-9._-]", "-", name.lower()).strip("-._")[:32]
        msg = told(
            "“%(name)s” cannot be an account name: 1 to 32 characters of a-z, 0-9, dot, underscore and hyphen, first "
            "a letter. Capital letters are not made small: a name is one key, as it is typed.",
            name=shown(name),
        )
        fits = ACCOUNT.fullmatch(near) and near not in TAKEN_NAMES
        raise PeopleError(msg, fix=told("Try “%(near)s”.", near=near) if fits else told("Choose another name."))


def add_account(store: Store, site: Site, actor: Actor, new: NewAccount) -> tuple[people.Person, str]:
    """Add a person with a local account.

    Returns:
        The person, and the password to tell them: it is kept nowhere.

    Raises:
        Forbidden: The actor is no administrator.
        PeopleError: The name is taken or not possible, the password too short, or a project unknown.
    """
    subject = f"person:{new.name}"
    password = new.password if new.password is not None else secrets.token_urlsafe(15)
    with trace.refusals(store, actor, "person.add", subject):
        check_name(new.name)
        display_name = checked_title(new.display_name) if new.display_name else ""
        set_to = people.NewPassword(hash_password(password), new.must_change)
    with trace.change(store, actor, "person.add", subject) as made:
        session = made.session
        require(session, actor, Action.MANAGE_PEOPLE)
        if people.find_person(session, new.name):
            msg = told("There is an account “%(name)s” already.", name=new.name)
            raise PeopleError(msg, fix=told("Choose another name; a name is never given twice."))
        first = people.FirstNumbers(_free_uid(store, session, site.people.uid_min), site.people.gid_min)
        person = people.add_person(session, new.name, set_to.hash, admin=new.admin, first=first)
        people.set_password(session, person.id, set_to)
        people.set_display_name(session, person.id, display_name)
        for slug in new.project_slugs:
            _join(session, actor, slug, person)
        made.detail |= {"uid": person.uid, "admin": new.admin, "projects": list(new.project_slugs)}
        return people.get_person(session, person.id), password


def disable_account(store: Store, actor: Actor, name: str) -> people.Person:
    """Switch an account off: nobody signs in with it, all its sessions and tokens end, and the hub stops what runs.

    Raises:
        Forbidden: The actor is no administrator.
        NotFound: There is no such account.
        PeopleError: It is the last administrator's.
    """
    with trace.change(store, actor, "person.disable", f"person:{name}") as made:
        require(made.session, actor, Action.MANAGE_PEOPLE)
        person = _existing(made.session, name)
        _keep_an_admin(made.session, person)
        people.sign_out(made.session, person.id)
        return people.set_disabled(made.session, person.id, disabled=True)


def enable_account(store: Store, actor: Actor, name: str) -> people.Person:
    """Switch an account on again.

    Raises:
        Forbidden: The actor is no administrator.
        NotFound: There is no such account.
    """
    with trace.change(store, actor, "person.enable", f"person:{name}") as made:
        require(made.session, actor, Action.MANAGE_PEOPLE)
        return people.set_disabled(made.session, _existing(made.session, name).id, disabled=False)


def set_admin(store: Store, actor: Actor, name: str, *, admin: bool) -> people.Person:
    """Let a person run the site, or no longer; it holds from their next request on.

    Raises:
        Forbidden: The actor is no administrator.
        NotFound: There is no such account.
        PeopleError: It is the last administrator's.
    """
    with trace.change(store, actor, "person.admin", f"person:{name}") as made:
        require(made.session, actor, Action.MANAGE_PEOPLE)
        person = _existing(made.session, name)
        if not admin:
            _keep_an_admin(made.session, person)
        made.detail |= {"admin_before": person.admin, "admin": admin}
        if admin and not person.admin:
            notices.tell(made.session, actor, [person.id], notices.NewNotice(_MADE_ADMIN))
        return people.set_admin(made.session, person.id, admin=admin)


def reset_password(store: Store, actor: Actor, name: str, password: str | None = None) -> str:
    """Give a person another password, which they change at their next sign-in; also opens a locked account.

    All their sessions and tokens end: whoever had the old password, or their browser, is out. Servers run on.

    Args:
        store: The database.
        actor: Who asks.
        name: Whose.
        password: The new one; None makes one.

    Returns:
        The password to tell them: it is kept nowhere.

    Raises:
        Forbidden: The actor is no administrator.
        NotFound: There is no such account.
        PeopleError: The password is too short.
    """
    chosen = password if password is not None else secrets.token_urlsafe(15)
    with trace.refusals(store, actor, "person.reset-password", f"person:{name}"):
        hashed = hash_password(chosen)
    with trace.change(store, actor, "person.reset-password", f"person:{name}") as made:
        require(made.session, actor, Action.MANAGE_PEOPLE)
        person = _existing(made.session, name)
        people.set_password(made.session, person.id, people.NewPassword(hashed, must_change=True))
        people.sign_out(made.session, person.id)
        notices.tell(made.session, actor, [person.id], notices.NewNotice(_PASSWORD_RESET, notices.WARNING))
    return chosen


def set_preferences(
    store: Store, actor: Actor, language: str, theme: str, display_name: str | None = None
) -> people.Person:
    """Keep how a person wants their pages.

    Args:
        store: The database.
        actor: The person.
        language: `en`, `pt-BR`, or empty for the browser's.
        theme: `light`, `dark`, or empty for the system's.
        display_name: What pages call them; empty for the account name, None leaves it.

    Raises:
        PeopleError: There is no such language or theme, or the name is not possible.
    """
    with trace.change(store, actor, "person.preferences", f"person:{actor.name}") as made:
        for value, known in ((language, LANGUAGES), (theme, THEMES)):
            if value not in known:
                msg = told("“%(value)s” cannot be chosen here.", value=shown(value))
                fix = told("Choose one of these: %(known)s.", known=", ".join(filter(None, known)))
                raise PeopleError(msg, fix=fix)
        called = checked_title(display_name) if display_name else display_name
        person = _existing(made.session, actor.name)
        people.set_look(made.session, person.id, language=language, theme=theme)
        if called is not None:
            people.set_display_name(made.session, person.id, called)
        made.detail |= {"language": language, "theme": theme}
        return people.get_person(made.session, person.id)


def _keep_an_admin(session: Session, person: people.Person) -> None:
    """Refuse to take the last one away who can run the site."""
    if [admin.id for admin in people.admins(session)] == [person.id]:
        msg = told("%(name)s is the only administrator.", name=person.name)
        raise PeopleError(msg, fix=told("Make somebody else one first: ./bancada user change NAME --admin"))


def _existing(session: Session, name: str) -> people.Person:
    person = people.find_person(session, name) if ACCOUNT.fullmatch(name) else None
    if person is None:
        msg = told("There is no account “%(name)s”.", name=shown(name))
        raise NotFound(msg, fix=told("See who has one: ./bancada user list"))
    return person


def _free_uid(store: Store, session: Session, first: int) -> int:
    """Return a uid that nobody had, by the database and by the disk: a restored backup forgets who came after it."""
    uid = people.next_uid(session, first)
    while store.places.home(uid).exists() or store.places.state(uid).exists():
        uid += 1
    return uid


def _join(session: Session, actor: Actor, slug: str, person: people.Person) -> None:
    project = projects.find_project(session, slug)
    if project is None or project.personal or project.archived_at:
        msg = told("There is no project “%(slug)s” to join; nobody was added.", slug=shown(slug))
        raise PeopleError(msg, fix=told("See which there are: ./bancada project list"))
    projects.add_member(session, project.id, person.id)
    detail = {"person": person.name, "lead": False}
    trace.audit(session, trace.Entry(actor, "project.add-member", f"project:{slug}", detail=detail))
    trace.ledger(session, trace.NewLedgerEntry("membership.granted", project.id, person.id, {"lead": False}))
