"""The one place where our errors become what JupyterHub shows to a person."""

import logging

from jupyterhub.spawner import SpawnException

from bancada.contract import StartFailure
from bancada_hub.errors import (
    BancadaError,
    EngineError,
    HostError,
    LaunchRefused,
    Reader,
    StoreError,
    Told,
    told,
    told_exactly,
)
from bancada_hub.launch.reasons import Reason
from bancada_hub.ui.language import Words, words

_REASONS: tuple[tuple[type[BancadaError], Reason], ...] = (
    (EngineError, Reason.ENGINE),
    (HostError, Reason.FOLDERS),
    (StoreError, Reason.DATABASE),
)
_WRONG, _REFUSED, _UNAVAILABLE = 400, 409, 503


_INSIDE = {
    "home": told("Your home folder cannot be used as it is. Ask an administrator."),
    "runtime": told("The folder for running programs is not yours alone. Ask an administrator."),
    "project": told("The project's folder cannot be written. Ask an administrator."),
    "environment": told(
        "Your environment did not come up as it must: start in safe mode, and free some space or reset the environment."
    ),
    "mounts": told("Not all of your folders were mounted as they must be. Ask an administrator."),
    "cards": told(
        "The cards that the server saw are not those of its lease, so it did not start. Ask an administrator."
    ),
    "walls": told("The walls around your server are not as they must be, so it did not start. Ask an administrator."),
}
"""What a server's own checks found, by their fixed word, for readers of another language than their sentences'."""


def refused_inside(failure: StartFailure) -> LaunchRefused:
    """Return the refusal for a check that failed inside: its own sentence, or in another language one of its kind."""
    return LaunchRefused(told_exactly(failure.sentence, _INSIDE.get(failure.reason)), reason=failure.reason)


def spawn_exception(error: BancadaError, language: object = "") -> SpawnException:
    """Return what JupyterHub raises for one of our errors.

    What only an administrator can mend is shown to the person in one sentence, with whom to ask; the hub's log has
    the command.

    Args:
        error: Ours.
        language: What the person reads, `en` or `pt-BR`; anything else is English.
    """
    said = words("pt_BR" if language == "pt-BR" else "en")
    if isinstance(error, LaunchRefused):
        status = _WRONG if error.reason == Reason.BAD_OPTIONS else _REFUSED
        return _told(SpawnException(_sentence(error.what, error.fix, said), reason=error.reason, status_code=status))
    reason = next((word for kind, word in _REASONS if isinstance(error, kind)), Reason.ENDED)
    if error.reader is Reader.RESEARCHER:
        return _told(SpawnException(_sentence(error.what, error.fix, said), reason=reason, status_code=_UNAVAILABLE))
    logging.getLogger(__name__).error("%s", error)
    sentence = _sentence(error.what, told("Ask an administrator."), said)
    return _told(SpawnException(sentence, reason=reason, log_message=str(error), status_code=_UNAVAILABLE))


def _told(exception: SpawnException) -> SpawnException:
    # Without it, the stream of a start's progress tells people str(exception), which holds the message of the log.
    exception.jupyterhub_message = exception.message
    return exception


def _sentence(what: str, fix: str, said: Words) -> str:
    if said.language != "en":
        what, fix = (said.gettext(text) if isinstance(text, Told) else text for text in (what, fix))
    end = "" if not fix or fix.endswith((".", "…")) else "."
    return f"{what} {fix}{end}".strip()
