"""Taking a whole site out of its engine: `bancada down`."""

import contextlib

import docker
from docker.errors import NotFound

from bancada_hub.launch.container import STOP_S, take_down
from bancada_hub.launch.names import SITE_LABEL, network_name
from bancada_hub.store import overlays
from bancada_hub.store.database import Store


def remove_everything(client: docker.DockerClient, site_id: str, store: Store) -> int:
    """Stop and remove every server of a site, its volumes and its bridge; give their overlays back.

    Args:
        client: The engine.
        site_id: The site.
        store: Its database.

    Returns:
        How many servers there were.
    """
    starts = take_down(client, {SITE_LABEL: site_id}, stop_s=STOP_S)
    with contextlib.suppress(NotFound):
        client.networks.get(network_name(site_id)).remove()
    with store.write() as session:
        for server in overlays.held(session):
            overlays.release(session, server)
    return len(starts)
