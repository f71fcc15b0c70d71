"""What the console itself may have to say no to, and how any error becomes an answer.

BancadaError
├── HubAwayError       the hub does not answer; it restarts within seconds
├── HubRefusedError    the hub answered that it will not
├── NotThereError      unknown or not this person's: both look alike
├── NotSignedInError   nobody is signed in
├── NoAccountError     signed in at the hub, but not (or no longer) in our table of people
├── StalePageError     a form or script without a valid XSRF token: its page is older than the session
├── WeakTokenError     a token that is not good for what was asked, such as a server's own
├── BadBodyError       a body with a key that is unknown, missing or of the wrong kind
├── PasswordFirstError somebody else chose the password: it is to be changed before anything else
├── EngineSilentError  the container engine does not answer, so nothing starts
└── NotNowError        it is somebody's own, but not possible in its present state
"""

from dataclasses import dataclass

from tornado.web import HTTPError

from bancada_hub.errors import (
    BancadaError,
    Forbidden,
    LaunchRefused,
    NotFound,
    PeopleError,
    Reader,
    SettingsError,
    StoreError,
)


def later(message: str) -> str:
    """Mark a message for translation where it is shown."""
    return message


class HubAwayError(BancadaError):
    """The hub does not answer."""

    reader = Reader.RESEARCHER
    title = later("The hub is restarting")

    def __init__(self) -> None:
        super().__init__(
            later("The hub is restarting. What is running goes on."), fix=later("This page tries again every 5 s.")
        )


class HubRefusedError(BancadaError):
    """The hub answered that it will not."""

    reader = Reader.RESEARCHER

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


class NotThereError(BancadaError):
    """Unknown, or not this person's."""

    reader = Reader.RESEARCHER
    title = later("Nothing here")

    def __init__(self) -> None:
        super().__init__(later("There is nothing at this address, or it is not yours to see."))


class NotSignedInError(BancadaError):
    """Nobody is signed in."""

    reader = Reader.RESEARCHER
    title = later("Signed out")

    def __init__(self) -> None:
        super().__init__(later("You are signed out."), fix=later("Reload the page and sign in."))


class NoAccountError(BancadaError):
    """Signed in at the hub, but not in our table of people, or disabled there."""

    title = later("No account here")

    def __init__(self) -> None:
        super().__init__(
            later("Your account is switched off on this site, or was never added to it."),
            fix=later("Ask the person who runs this site."),
        )


class StalePageError(BancadaError):
    """A form or script without a valid XSRF token."""

    reader = Reader.RESEARCHER
    title = later("This page is out of date")

    def __init__(self) -> None:
        super().__init__(
            later("This page was opened before you last signed in, so nothing was done."),
            fix=later("Reload the page and try again."),
        )


class WeakTokenError(BancadaError):
    """A token that is not good for what was asked."""

    reader = Reader.RESEARCHER

    def __init__(self) -> None:
        super().__init__(
            later("This token may look, but not change anything."),
            fix=later("Make a token of your own at /hub/token."),
        )


class BadBodyError(BancadaError):
    """A body with a key that is unknown, missing or of the wrong kind; says which."""

    reader = Reader.RESEARCHER
    title = later("Nothing was done")


class PasswordFirstError(BancadaError):
    """The password is still the one that somebody else chose."""

    reader = Reader.RESEARCHER
    title = later("Change your password first")

    def __init__(self) -> None:
        super().__init__(
            later("Your password was chosen by somebody else, so it is to be changed before anything else."),
            fix=later("Change it on the page Profile."),
        )


class EngineSilentError(BancadaError):
    """The container engine does not answer; `what` says since when."""

    reader = Reader.RESEARCHER
    title = later("Nothing starts now")


class NotNowError(BancadaError):
    """Not possible in its present state."""

    reader = Reader.RESEARCHER


@dataclass(frozen=True)
class Answer:
    """An error as a person or a program gets it.

    Args:
        status: The HTTP status.
        title: A few words, in English; empty where `message` says it all.
        message: What happened and why, in English.
        fix: What to do, in English; may be empty.
    """

    status: int
    title: str
    message: str
    fix: str


_STATUSES: tuple[tuple[type[BancadaError], int], ...] = (
    (HubAwayError, 503),
    (StoreError, 503),
    (EngineSilentError, 503),
    (NotThereError, 404),
    (NotSignedInError, 401),
    (NoAccountError, 403),
    (StalePageError, 403),
    (WeakTokenError, 403),
    (PasswordFirstError, 403),
    (BadBodyError, 400),
    (NotNowError, 409),
    (LaunchRefused, 409),
    (NotFound, 404),
    (Forbidden, 403),
    (PeopleError, 409),
    (SettingsError, 500),
)

_WORDS = {
    400: later("The request could not be understood."),
    404: later("There is nothing at this address, or it is not yours to see."),
    405: later("This address does not do that."),
}


def answer_for(error: BaseException | None, status: int) -> Answer:
    """Return what an error says to the one who asked.

    Args:
        error: What was raised; None when tornado only set a status.
        status: The status that tornado would send.
    """
    if isinstance(error, HubRefusedError):
        return Answer(error.status, "", error.what, error.fix)
    if isinstance(error, BancadaError):
        status = next((number for kind, number in _STATUSES if isinstance(error, kind)), 500)
        if isinstance(error, StoreError):
            return Answer(status, "", later("The site's database does not answer."), later("Try again in a minute."))
        return Answer(status, getattr(error, "title", ""), error.what, error.fix)
    if isinstance(error, HTTPError) and status < 500:
        title = NotThereError.title if status == 404 else ""
        return Answer(status, title, _WORDS.get(status, _WORDS[400]), "")
    return Answer(
        500,
        "",
        later("The console could not answer this request."),
        later("Its log on the machine has the reason: ./bancada logs"),
    )
