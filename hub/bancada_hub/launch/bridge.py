"""The site's bridge at the hub's start: the hub listens on it, and could not start while somebody has removed it."""

import logging
from contextlib import closing

import psutil
from docker.errors import DockerException
from requests.exceptions import RequestException

from bancada_hub.errors import EngineError
from bancada_hub.host.connection import connect
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.network import ensure_network

WITHIN_S = 5

_log = logging.getLogger(__name__)


def put_bridge_back(context: LaunchContext, gateway: str) -> bool:
    """Make the bridge again when its address is not on this machine; return whether that was done.

    An engine that is silent is not waited for: the hub ends, is started again, and comes back here.

    Args:
        context: The site.
        gateway: The bridge's address.
    """
    if not context.engine_host or is_here(gateway):
        return False
    try:
        with closing(connect(context.engine_host, WITHIN_S)) as client:
            ensure_network(client, context.site_id, context.subnet or None)
    except (DockerException, RequestException, EngineError) as error:
        _log.error("The site's bridge with the address %s is gone and cannot be made again now: %s", gateway, error)
        return False
    _log.warning("Somebody had removed the site's bridge; it is there again")
    return True


def is_here(address: str) -> bool:
    """Say whether an address is one of this machine's own."""
    return any(item.address == address for items in psutil.net_if_addrs().values() for item in items)
