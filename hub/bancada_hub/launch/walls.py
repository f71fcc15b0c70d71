"""The site's firewall on a clock of its own in the hub: in force from the hub's start on, whoever takes it away.

A thread, so that a silent name server or a slow nft never holds up the hub. Starts do not wait for the clock: each
looks for itself.
"""

import logging
import threading

from bancada_hub.errors import HostError
from bancada_hub.host.firewall import Firewall

EVERY_S = 60.0
"""How long servers that run may be without their walls at most, after somebody flushed them."""

_log = logging.getLogger(__name__)


def keep_walls(firewall: Firewall, every_s: float = EVERY_S) -> threading.Event:
    """Put a firewall in force now and again on a clock; returns what ends that when it is set.

    A firewall that cannot be put in force does not keep the hub from running: running servers can be stopped, and none
    starts meanwhile.

    Args:
        firewall: The site's.
        every_s: Seconds between two looks.
    """
    over = threading.Event()
    threading.Thread(target=_keep, args=(firewall, every_s, over), name="walls", daemon=True).start()
    return over


def _keep(firewall: Firewall, every_s: float, over: threading.Event) -> None:
    told = ""
    while not over.is_set():
        try:
            if firewall.ensure():
                _log.warning("The site's firewall rules were not as they must be; they are in force now")
            told = ""
        except (HostError, OSError) as error:
            if str(error) != told:  # once, not every minute
                _log.error("The site's firewall cannot be put in force, so no server starts: %s", error)
            told = str(error)
        over.wait(every_s)
