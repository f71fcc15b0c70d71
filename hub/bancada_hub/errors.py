"""Every error that the control plane raises on purpose.

    BancadaError
    ├── SettingsError      bancada.toml or a command-line value is wrong
    ├── HostError          the machine lacks something, or refuses it
    │   └── EngineError    the container engine is missing, silent, or cannot do what is needed
    ├── StoreError         the database cannot be reached, or has the wrong version
    ├── PeopleError        an account, a project or a membership is not as asked
    │   ├── Forbidden      this person may not do that
    │   ├── NotFound       there is no such thing, or this person may not know of it
    │   └── StaleVersion   somebody else changed it meanwhile
    └── LaunchRefused      a server may not, or cannot, start as asked

`bancada_images.errors` has the errors of specs and builds.
"""

from bancada.errors import BancadaError, Reader

__all__ = [
    "BancadaError",
    "EngineError",
    "Forbidden",
    "HostError",
    "LaunchRefused",
    "NotFound",
    "PeopleError",
    "Reader",
    "SettingsError",
    "StaleVersion",
    "StoreError",
    "Told",
    "joined",
    "told",
    "told_exactly",
]


class Told(str):
    """A sentence that remembers how it was made, so that a page can say it in the reader's language.

    It is the English sentence; `template` and `values` are what it was made of.
    """

    __slots__ = ("template", "values")

    template: str
    values: dict[str, object]


def told(template: str, /, **values: object) -> Told:
    """Return a sentence for an error: `template` with its %(name)s places filled; pages look up the template.

    A function of this name marks its template for translation, as `later` does.
    """
    made = Told(template % values if values else template)
    made.template, made.values = template, values
    return made


def told_exactly(sentence: str, otherwise: Told | None) -> Told:
    """Return an English sentence that came from elsewhere, which a page in another language says more generally.

    Args:
        sentence: In English.
        otherwise: What it amounts to; None says it as it is in every language.
    """
    made = Told(sentence)
    made.template, made.values = (otherwise.template, otherwise.values) if otherwise else (sentence, {})
    return made


def joined(*sentences: Told) -> Told:
    """Return sentences as one, which a page can still say in the reader's language."""
    places = {f"s{number}": sentence for number, sentence in enumerate(sentences)}
    return told(" ".join(f"%({place})s" for place in places), **places)


class SettingsError(BancadaError):
    """A setting, in bancada.toml or on the command line, is wrong."""


class HostError(BancadaError):
    """This machine lacks something that Bancada needs, or refuses it."""


class EngineError(HostError):
    """The container engine is missing, does not answer, or cannot do what is needed."""


class StoreError(BancadaError):
    """The database cannot be reached, or is not at this release's version."""


class PeopleError(BancadaError):
    """An account, a project or a membership is not as asked; whoever asked is the one who can ask otherwise."""

    reader = Reader.RESEARCHER


class Forbidden(PeopleError):  # noqa: N818 - a refusal by policy is an outcome, not a fault
    """This person may not do that, and may know that they may not."""


class NotFound(PeopleError):  # noqa: N818 - the same words whether it is missing or not theirs to see
    """There is no such thing, or this person may not know of it: nobody learns which."""


class StaleVersion(PeopleError):  # noqa: N818 - two people at work on one thing is no fault of either
    """Somebody else changed the same thing after it was read; the message names them and when."""


class LaunchRefused(BancadaError):  # noqa: N818 - a refusal by policy is an outcome, not a fault
    """A server may not, or cannot, start as asked.

    Args:
        what: Why, for the person who asked.
        fix: What that person can do.
        reason: A fixed word for metrics and tests, such as "not-a-member".
    """

    reader = Reader.RESEARCHER

    def __init__(self, what: str, *, fix: str = "", reason: str) -> None:
        super().__init__(what, fix=fix)
        self.reason = reason
