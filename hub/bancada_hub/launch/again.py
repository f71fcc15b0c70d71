"""A look that is taken again and again in a thread of its own, so that nothing it waits for ever holds up the hub."""

import logging
import threading
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from bancada_hub.errors import BancadaError

_log = logging.getLogger(__name__)


def again_and_again(name: str, every_s: float, look: Callable[[], object], failing: str) -> threading.Event:
    """Look now and every so many seconds; returns what ends that when it is set.

    A look that fails is said in the log, once until it says something else, and so is the first one that works again.
    Whatever it raises, the next one is taken: without it nothing would be put right until the hub starts again.

    Args:
        name: The thread's.
        every_s: Seconds between two looks.
        look: Raises what keeps it from being done.
        failing: What it means that it fails, as the log says it before the reason.
    """
    over = threading.Event()
    threading.Thread(target=_run, args=(every_s, look, failing, over), name=name, daemon=True).start()
    return over


def _run(every_s: float, look: Callable[[], object], failing: str, over: threading.Event) -> None:
    said = ""
    while not over.is_set():
        wrong = _once(look, failing, said)
        if said and not wrong:
            _log.warning("No longer: %s", failing)
        said = wrong
        over.wait(every_s)


def _once(look: Callable[[], object], failing: str, said: str) -> str:
    """Look once; returns what was wrong, which is logged unless it was said the time before."""
    try:
        look()
    except (BancadaError, SQLAlchemyError, OSError) as error:
        if str(error) != said:
            _log.error("%s: %s", failing, error)
        return str(error)
    except Exception as error:  # noqa: BLE001 - an error of ours: the log shows its place, and the clock goes on
        if repr(error) != said:
            _log.exception("%s", failing)
        return repr(error)
    return ""
