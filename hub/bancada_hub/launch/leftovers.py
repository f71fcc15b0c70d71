"""Taking a whole site out of the engine it runs on: `bancada down`."""

import contextlib

import docker
import psutil
from docker.errors import APIError, NotFound

from bancada_hub.launch import process, processes, removal
from bancada_hub.launch.names import SITE_LABEL, network_name
from bancada_hub.launch.on_host import SERVER_VARIABLE
from bancada_hub.store import overlays, servers
from bancada_hub.store.database import Store

IMAGE_PREFIX = "bancada-"


def remove_servers(client: docker.DockerClient, site_id: str) -> int:
    """Stop and remove every server of a site, its volumes and its bridge; return how many servers there were."""
    starts = removal.take_down(client, {SITE_LABEL: site_id}, stop_s=removal.STOP_S)
    with contextlib.suppress(NotFound):
        client.networks.get(network_name(site_id)).remove()
    return len(starts)


def end_servers(site_id: str) -> int:
    """End every server of a site that is a process of this machine; return how many there were."""
    names = set()
    for each in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            names.add(each.environ().get(SERVER_VARIABLE, ""))
    ours = {name for name in names if name.startswith(f"{network_name(site_id)}-")}
    for name in ours:
        processes.end_server(name, process.STOP_S)
    return len(ours)


def give_back_all(store: Store) -> None:
    """Give back whatever servers held, once none of the site runs any more."""
    with store.write() as session:
        for start_id in overlays.held(session):
            overlays.release(session, start_id)
        for server in servers.held(session):
            servers.release(session, server.start_id)


def remove_images(client: docker.DockerClient) -> tuple[list[str], list[str]]:
    """Remove the images that Bancada made, of all sites of this engine.

    Returns:
        The names that were removed, and those that a container still uses.
    """
    removed, used = [], []
    for image in client.images.list():
        for tag in (tag for tag in image.tags if tag.startswith(IMAGE_PREFIX)):
            try:
                client.images.remove(tag)
                removed.append(tag)
            except APIError:
                used.append(tag)
    return sorted(removed), sorted(used)
