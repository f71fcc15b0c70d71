"""Words in English and Portuguese: which language a request wants, and the messages in it.

English is the source and stands in templates and code; `locale/pt_BR/LC_MESSAGES/bancada.po` has the Portuguese. It is
compiled in memory when first used, so that no compiled file can be out of step with it.
"""

import gettext
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from babel import Locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

from bancada_hub.amounts import Bytes, Cores
from bancada_hub.errors import Told

LOCALES = Path(__file__).parent / "locale"
LANGUAGES = ("en", "pt_BR")
COOKIE = "bancada-language"

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400


@dataclass(frozen=True)
class Words:
    """Messages, numbers and times in one language."""

    language: str
    catalogue: gettext.NullTranslations

    @property
    def tag(self) -> str:
        """The language as HTML names it (BCP 47)."""
        return self.language.replace("_", "-")

    def gettext(self, message: str, /, **values: object) -> str:
        """Return a message in this language, with %(name)s places filled; those of a told sentence are in it."""
        if isinstance(message, Told):
            values, message = message.values, message.template
        values = {name: self._said(value) for name, value in values.items()}
        translated = self.catalogue.gettext(message)
        return translated % values if values else translated

    def _said(self, value: object) -> object:
        """Return a value as it stands in a message: sentences and amounts in this language, all else as it is."""
        if isinstance(value, Told):
            return self.gettext(value)
        if isinstance(value, Bytes):
            return self.size(value)
        if isinstance(value, Cores):
            return self.number(value)
        return value

    def ngettext(self, one: str, many: str, n: int, /, **values: object) -> str:
        """Return the form of a message that fits the number `n`, with %(name)s places filled; %(n)d is the number."""
        return self.catalogue.ngettext(one, many, n) % {"n": n, **values}

    def duration(self, seconds: float) -> str:
        """Return a length of time as people say it: 40 s, 12 min, 3 h, 2 days."""
        if seconds < 1.5 * MINUTE_S:
            return self.gettext("%(n)d s", n=max(0, round(seconds)))
        if seconds < 1.5 * HOUR_S:
            return self.gettext("%(n)d min", n=round(seconds / MINUTE_S))
        if seconds < 2 * DAY_S:
            return self.gettext("%(n)d h", n=round(seconds / HOUR_S))
        return self.ngettext("%(n)d day", "%(n)d days", round(seconds / DAY_S))

    def ago(self, seconds: float) -> str:
        """Return how long ago something was, as people say it."""
        return self.gettext("%(time)s ago", time=self.duration(seconds))

    def size(self, size_bytes: int) -> str:
        """Return an amount of storage in GiB, with this language's decimal mark."""
        number = format_decimal(size_bytes / 2**30, format="#,##0.0", locale=Locale.parse(self.language))
        return f"{number} GiB"

    def number(self, number: float) -> str:
        """Return a number with two decimals at most, with this language's decimal mark."""
        return str(format_decimal(round(number, 2), locale=Locale.parse(self.language)))

    def cores(self, cpus: float) -> str:
        """Return a number of CPU cores, with this language's decimal mark."""
        if round(cpus, 2) == 1:
            return self.gettext("1 core")
        return self.gettext("%(amount)s cores", amount=Cores(cpus))


@cache
def words(language: str) -> Words:
    """Return the words of a language; of English for one that is not known."""
    path = LOCALES / language / "LC_MESSAGES" / "bancada.po"
    if language not in LANGUAGES or not path.exists():
        return Words("en", gettext.NullTranslations())
    with path.open("rb") as file:
        catalogue = read_po(file, locale=language, abort_invalid=True)
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return Words(language, gettext.GNUTranslations(compiled))


def choose(chosen: str, accepted: str) -> str:
    """Return the language for a request.

    Args:
        chosen: Value of the language cookie; empty when the person never chose.
        accepted: The browser's Accept-Language header (RFC 9110, 12.5.4).
    """
    if chosen in LANGUAGES:
        return chosen
    ranked = sorted(_preferences(accepted), reverse=True)
    for _, _, name in ranked:
        if name == "pt" or name.startswith("pt-"):
            return "pt_BR"
        if name == "en" or name.startswith("en-"):
            return "en"
    return "en"


def _preferences(accepted: str) -> list[tuple[float, int, str]]:
    found = []
    for place, part in enumerate(accepted.split(",")):
        name, _, quality = part.strip().lower().partition(";")
        try:
            weight = float(quality.strip().removeprefix("q=")) if quality else 1.0
        except ValueError:
            continue
        if name and weight > 0:
            found.append((weight, -place, name))
    return found
