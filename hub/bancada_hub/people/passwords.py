"""Passwords as they are kept: in one form, hashed with Argon2id."""

import secrets
import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from bancada_hub.errors import PeopleError, told

SHORTEST_PASSWORD, LONGEST_PASSWORD = 15, 256
"""Characters. NIST SP 800-63B-4 allows 8 beside a second factor and asks for 15 without one; generated ones have 20."""


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password (RFC 9106, the library's current parameters).

    Raises:
        PeopleError: It is too short, too long, or has no form in bytes.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        n = len(password)
        msg = told("The password has %(n)s characters; %(most)s fit.", n=n, most=LONGEST_PASSWORD)
        if n < SHORTEST_PASSWORD:
            msg = told("The password has %(n)s characters; %(least)s are needed.", n=n, least=SHORTEST_PASSWORD)
        raise PeopleError(msg, fix=told("Several words make a good password."))
    try:
        return PasswordHasher().hash(_one_form(password))
    except UnicodeEncodeError:
        msg = told("The password has a character that cannot be typed again.")
        raise PeopleError(msg, fix=told("Choose another one.")) from None


def _one_form(password: str) -> str:
    """Return a password in one form, whichever way a keyboard composes its accents (RFC 8265)."""
    return unicodedata.normalize("NFC", password)


def fits(known: str | None, password: str) -> bool:
    """Return whether a password is the one of a hash; without a hash nothing is, and it takes the same time."""
    # One that is too long to be anybody's still costs a comparison.
    tried = password if len(password) <= LONGEST_PASSWORD else ""
    try:
        PasswordHasher().verify(known or _nobodys(), _one_form(tried))
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False
    return known is not None


@cache
def _nobodys() -> str:
    return PasswordHasher().hash(secrets.token_urlsafe(15))
