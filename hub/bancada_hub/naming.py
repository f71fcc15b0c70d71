"""What people may call things: short names that paths, addresses and commands carry, and titles that are kept as typed.

A refusal says what is wrong and, where there is one, a name that would do. A title is text and nothing else: what is
markup or code in it is shown as it was typed.
"""

import re
import unicodedata

from bancada_hub.errors import PeopleError, told

ACCOUNT = re.compile(r"[a-z][a-z0-9._-]{0,31}")
"""Account names that passwd(5), a path, a URL and a host's log can all carry as they are."""

SLUG = re.compile(r"[a-z]([a-z0-9-]{0,22}[a-z0-9])?")
LONGEST_SLUG, LONGEST_TITLE = 24, 80
RESERVED_PREFIXES = ("x-", "me-")
RESERVED_SLUGS = frozenset({"root", "daemon", "tty", "nogroup", "bancada-env"})
"""Groups of the system in every server; a project's group is named by its slug."""

_JOINERS = "\u200c\u200d"
"""Invisible, and needed inside words of some languages and inside emoji."""


def check_slug(slug: str) -> None:
    """Refuse what cannot be the short name of a project or lab.

    Args:
        slug: What was asked for.

    Raises:
        PeopleError: Names what is wrong and a name that would do.
    """
    if slug.startswith(RESERVED_PREFIXES) or slug in RESERVED_SLUGS:
        msg = told(
            "“%(slug)s” is kept for Bancada's own use, as all short names are that begin with x- or me-.",
            slug=shown(slug),
        )
        raise PeopleError(msg, fix=told("Choose another short name."))
    if not SLUG.fullmatch(slug):
        msg = told(
            "“%(slug)s” cannot be a short name: 1 to %(most)s characters of a-z, 0-9 and hyphen, first a letter, last "
            "no hyphen.",
            slug=shown(slug),
            most=LONGEST_SLUG,
        )
        near = nearest_slug(slug)
        raise PeopleError(msg, fix=told("Try “%(near)s”.", near=near) if near else told("Choose another short name."))


def nearest_slug(text: str) -> str:
    """Return a short name made of some text; empty when there is none in it."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    near = re.sub(r"[^a-z0-9]+", "-", plain).lstrip("-0123456789")[:LONGEST_SLUG].rstrip("-")
    fits = SLUG.fullmatch(near) and near not in RESERVED_SLUGS and not near.startswith(RESERVED_PREFIXES)
    return near if fits else ""


def checked_title(text: str) -> str:
    """Return a title, or a person's name, without the blanks around it.

    Args:
        text: As it was typed.

    Raises:
        PeopleError: It is empty, too long, or has characters that cannot be seen.
    """
    title = text.strip()
    hidden = [character for character in title if _hidden(character)]
    if hidden:
        code = f"U+{ord(hidden[0]):04X}"
        msg = told("The text has a character that cannot be seen (%(code)s).", code=code)
        raise PeopleError(msg, fix=told("Type it again, on one line."))
    if not any(unicodedata.category(character)[0] in "LNPS" for character in title):
        msg = told("The text is empty.")
        raise PeopleError(msg, fix=told("Use 1 to %(most)s characters.", most=LONGEST_TITLE))
    if len(title) > LONGEST_TITLE:
        msg = told("The text has %(n)s characters; %(most)s fit.", n=len(title), most=LONGEST_TITLE)
        raise PeopleError(msg, fix=told("Shorten it."))
    return title


def shown(text: str) -> str:
    """Return a text that may be anything as a message can show it: short, on one line, nothing hidden."""
    seen = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text[:40])
    return f"{seen}…" if len(text) > len(text[:40]) else seen


def _hidden(character: str) -> bool:
    category = unicodedata.category(character)
    return (category[0] == "C" or category in {"Zl", "Zp"}) and character not in _JOINERS
