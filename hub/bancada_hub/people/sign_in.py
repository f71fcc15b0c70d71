"""Signing in with a name and a password, and choosing another password.

After ten wrong passwords in a row an account is locked for a quarter of an hour. While it is locked, nothing tells
whether a password was right: neither the answer nor the time it takes.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from bancada_hub.errors import Forbidden, PeopleError, told
from bancada_hub.naming import ACCOUNT
from bancada_hub.people.passwords import fits, hash_password
from bancada_hub.roles import Actor
from bancada_hub.store import people, trace
from bancada_hub.store.database import Store

WRONG_IN_A_ROW = 10
LOCKED_FOR = timedelta(minutes=15)


class Problem(StrEnum):
    """Why a sign-in failed; pages show `disabled` as `wrong`."""

    NONE = ""
    WRONG = "wrong"
    LOCKED = "locked"
    DISABLED = "disabled"


@dataclass(frozen=True)
class SignIn:
    """How a sign-in ended.

    Args:
        person: Who it is; None when it failed.
        problem: Why it failed; empty when it did not.
        locked_until: Until when the account lets nobody in; only with `locked`.
        must_change: Whether the person has to choose another password first.
    """

    person: people.Person | None
    problem: Problem = Problem.NONE
    locked_until: datetime | None = None
    must_change: bool = False


def sign_in(store: Store, name: str, password: str, origin: str) -> SignIn:
    """Check a name and a password, count what is wrong, and put the outcome on record.

    An unknown name costs the same time as a wrong password, so that names cannot be guessed by the clock; it is not
    put on record, so that nobody fills the disk with names they make up.

    Args:
        store: The database.
        name: The account name, exactly as it is.
        password: The password.
        origin: The network address it comes from.
    """
    with store.read() as session:
        person = people.find_person(session, name) if ACCOUNT.fullmatch(name) else None
    right = fits(
        person.password_hash if person else None, password
    )  # outside the transaction: it takes long on purpose
    if person is None or person.password_hash is None:
        return SignIn(None, Problem.WRONG)
    return _settle(store, person, Actor(person.id, person.name, person.admin, origin), right=right)


def change_password(store: Store, actor: Actor, old: str, new: str) -> None:
    """Let a person choose another password.

    All their sessions end, this one too, but for the first password of their own: the one before it was new, and the
    sessions from before that had ended.

    Raises:
        Forbidden: The old password is wrong, or the account is locked or disabled.
        PeopleError: The new one is too short, or the old one again.
    """
    with trace.refusals(store, actor, "person.change-password", f"person:{actor.name}"):
        if new == old:
            msg = told("The new password is the old one.")
            raise PeopleError(msg, fix=told("Choose another one."))
        hashed = hash_password(new)
    checked = sign_in(store, actor.name, old, actor.origin)
    if checked.problem is Problem.LOCKED:
        minutes = LOCKED_FOR.seconds // 60
        msg = told(
            "After %(n)s wrong passwords in a row nobody is let in for %(minutes)s minutes.",
            n=WRONG_IN_A_ROW,
            minutes=minutes,
        )
        raise Forbidden(msg, fix=told("Try again later, or ask an administrator for a new password."))
    if checked.person is None:
        msg = told("The old password is not right.")
        raise Forbidden(msg, fix=told("Type it again."))
    with trace.change(store, actor, "person.change-password", f"person:{actor.name}") as made:
        current = people.get_person(made.session, checked.person.id)
        if current.password_hash != checked.person.password_hash or current.disabled:
            msg = told("The password was changed elsewhere meanwhile.")
            raise Forbidden(msg, fix=told("Sign in again."))
        people.set_password(made.session, current.id, people.NewPassword(hashed, must_change=False))
        if not current.must_change_password:
            people.sign_out(made.session, current.id)


def _settle(store: Store, checked: people.Person, actor: Actor, *, right: bool) -> SignIn:
    now = datetime.now(UTC)
    with store.write() as session:
        # Read again: meanwhile other attempts may have locked it, or an administrator may have changed it.
        person = people.get_person(session, checked.id)
        if person.locked_until and person.locked_until > now:
            return SignIn(None, Problem.LOCKED, person.locked_until)
        entry = trace.Entry(actor, "person.sign-in", f"person:{person.name}")
        if not right or person.password_hash != checked.password_hash:
            failed = person.failed_sign_ins + 1
            locked_until = now + LOCKED_FOR if failed >= WRONG_IN_A_ROW else None
            people.count_sign_in(session, person.id, failed=0 if locked_until else failed, locked_until=locked_until)
            detail = {"why": "locked" if locked_until else "wrong password"}
            trace.audit(session, trace.Entry(actor, entry.action, entry.subject, trace.REFUSED, detail))
            return SignIn(None, Problem.LOCKED if locked_until else Problem.WRONG, locked_until)
        if person.disabled:
            detail = {"why": "disabled"}
            trace.audit(session, trace.Entry(actor, entry.action, entry.subject, trace.REFUSED, detail))
            return SignIn(None, Problem.DISABLED)
        people.count_sign_in(session, person.id, failed=0, locked_until=None)
        trace.audit(session, entry)
        return SignIn(people.get_person(session, person.id), must_change=person.must_change_password)
