"""The one place where our errors become what JupyterHub shows to a person."""

import logging

from jupyterhub.spawner import SpawnException

from bancada_hub.errors import BancadaError, EngineError, HostError, LaunchRefused, Reader, StoreError
from bancada_hub.launch.reasons import Reason

_REASONS: tuple[tuple[type[BancadaError], Reason], ...] = (
    (EngineError, Reason.ENGINE),
    (HostError, Reason.FOLDERS),
    (StoreError, Reason.DATABASE),
)
_WRONG, _REFUSED, _UNAVAILABLE = 400, 409, 503


def spawn_exception(error: BancadaError) -> SpawnException:
    """Return what JupyterHub raises for one of our errors.

    What only an administrator can mend is shown to the person in one sentence, with whom to ask; the hub's log has
    the command.

    Args:
        error: Ours.
    """
    if isinstance(error, LaunchRefused):
        status = _WRONG if error.reason == Reason.BAD_OPTIONS else _REFUSED
        return _told(SpawnException(_sentence(error.what, error.fix), reason=error.reason, status_code=status))
    reason = next((word for kind, word in _REASONS if isinstance(error, kind)), Reason.ENDED)
    if error.reader is Reader.RESEARCHER:
        return _told(SpawnException(_sentence(error.what, error.fix), reason=reason, status_code=_UNAVAILABLE))
    logging.getLogger(__name__).error("%s", error)
    sentence = _sentence(error.what, "Ask an administrator.")
    return _told(SpawnException(sentence, reason=reason, log_message=str(error), status_code=_UNAVAILABLE))


def _told(exception: SpawnException) -> SpawnException:
    # Without it, the stream of a start's progress tells people str(exception), which holds the message of the log.
    exception.jupyterhub_message = exception.message
    return exception


def _sentence(what: str, fix: str) -> str:
    end = "" if not fix or fix.endswith((".", "…")) else "."
    return f"{what} {fix}{end}".strip()
