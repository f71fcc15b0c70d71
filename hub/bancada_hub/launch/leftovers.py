"""Taking a whole site out of the engine it runs on: `bancada down`.

What does not go is told in a sentence, and the rest goes all the same.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import docker
import psutil
from docker.errors import APIError, NotFound
from requests.exceptions import RequestException

from bancada_hub.errors import EngineError
from bancada_hub.launch import process, processes, removal
from bancada_hub.launch.names import SITE_LABEL, START_LABEL, network_name
from bancada_hub.launch.on_host import SERVER_VARIABLE
from bancada_hub.store import overlays, servers
from bancada_hub.store.database import Store

IMAGE_PREFIX = "bancada-"


@dataclass
class TakenOut:
    """What became of a site in its engine.

    Args:
        servers: The starts whose servers are gone.
        staying: What did not go, a sentence each, with what to do.
        servers_stay: Whether a server is among that: then it still needs its walls and holds its overlay.
    """

    servers: set[str] = field(default_factory=set)
    staying: list[str] = field(default_factory=list)
    servers_stay: bool = False


def remove_servers(client: docker.DockerClient, site_id: str) -> TakenOut:
    """Stop and remove every container of a site, its volumes and its bridge.

    Raises:
        EngineError: The engine answers no more.
    """
    taken, wanted = TakenOut(), {"label": f"{SITE_LABEL}={site_id}"}
    try:
        for found in client.api.containers(all=True, filters=wanted):
            with _told(taken, f"The container {found['Names'][0].strip('/')}"):
                with contextlib.suppress(NotFound):
                    client.api.stop(found["Id"], timeout=removal.STOP_S)
                removal.remove_container(client, found["Id"])
                taken.servers.add(found["Labels"].get(START_LABEL, ""))
        taken.servers.discard("")
        taken.servers_stay = bool(taken.staying)
        for volume in client.api.volumes(filters=wanted)["Volumes"] or []:
            with _told(taken, f"The volume {volume['Name']}"):
                removal.remove_volume(client, volume["Name"])
        _remove_bridge(client, site_id, taken)
    except RequestException as error:
        msg = "The container engine stopped answering, so not everything of the site is gone."
        raise EngineError(msg, fix="Once ./bancada doctor finds it well, run: ./bancada down") from error
    return taken


def _remove_bridge(client: docker.DockerClient, site_id: str, taken: TakenOut) -> None:
    """Remove the bridge; what is attached to it is cut off when it is ours, or nobody's any more, and else told."""
    name = network_name(site_id)
    try:
        attached = client.api.inspect_network(name).get("Containers") or {}
    except NotFound:
        return
    strangers = []
    for found, endpoint in attached.items():
        if _is_strange(client, found, site_id):
            strangers.append(str(endpoint["Name"]))
            continue
        with _told(taken, f"The connection of {endpoint['Name']} to the bridge {name}"), contextlib.suppress(NotFound):
            client.api.disconnect_container_from_network(endpoint["Name"], name, force=True)
    for stranger in sorted(strangers):
        taken.staying.append(
            f"The bridge {name} stays: the container {stranger} is attached to it, which is not of this site. "
            f"Run: docker network disconnect -f {name} {stranger}; then: ./bancada down"
        )
    if not strangers:
        with _told(taken, f"The bridge {name}"), contextlib.suppress(NotFound):
            client.api.remove_network(name)


def _is_strange(client: docker.DockerClient, found: str, site_id: str) -> bool:
    """Say whether an endpoint belongs to a container that is there and is not of this site."""
    try:
        labels = client.api.inspect_container(found)["Config"]["Labels"] or {}
    except NotFound:
        return False  # an engine may keep the endpoint of a container that is gone
    return bool(labels.get(SITE_LABEL) != site_id)


@contextlib.contextmanager
def _told(taken: TakenOut, what: str) -> Iterator[None]:
    """Turn what the engine refuses into a sentence, and go on."""
    try:
        yield
    except APIError as error:
        taken.staying.append(f"{what} stays: {str(error.explanation or error).rstrip('.')}.")
    except EngineError as error:
        taken.staying.append(f"{what} stays. {error.fix}")


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
