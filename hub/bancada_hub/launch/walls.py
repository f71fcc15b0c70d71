"""The site's firewall on a clock of its own in the hub: in force from the hub's start on, whoever takes it away.

Starts do not wait for the clock: each looks for itself.
"""

import logging
import threading

from bancada_hub.host.firewall import Firewall
from bancada_hub.launch.again import again_and_again

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

    def look() -> None:
        if firewall.ensure():
            _log.warning("The site's firewall rules were not as they must be; they are in force now")

    return again_and_again("walls", every_s, look, "The site's firewall cannot be put in force, so no server starts")
