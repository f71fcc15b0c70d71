"""Taking away what starts made in the engine: containers first, then the volumes that they used."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import docker
from docker.errors import APIError, NotFound

from bancada_hub.errors import EngineError, told
from bancada_hub.launch.names import START_LABEL

STOP_S = 10
GONE_WITHIN_S = 30.0

_GONE, _CONFLICT = 404, 409
_MOUNTED = "volume has active mounts"


def take_down(client: docker.DockerClient, labels: dict[str, str], *, stop_s: int = 0) -> set[str]:
    """Remove every container and volume with these labels, and wait until they are gone.

    Args:
        client: The engine.
        labels: All of them must be there.
        stop_s: Seconds that a running server gets to end by itself.

    Returns:
        The starts that are no more.
    """
    return remove_containers(client, labels, stop_s=stop_s) | remove_volumes(client, labels)


def remove_containers(client: docker.DockerClient, labels: dict[str, str], *, stop_s: int = 0) -> set[str]:
    """Remove the containers with these labels; returns their starts."""
    gone = set()
    for found in client.api.containers(all=True, filters=_filters(labels)):
        start_id = found["Labels"].get(START_LABEL, "")
        if stop_s:
            _stop(client, found["Id"], stop_s)
        remove_container(client, found["Id"])
        gone.add(start_id)
    return gone - {""}


def remove_container(client: docker.DockerClient, container: str) -> None:
    """Remove a container, whatever it does, and wait until it and its processes are gone.

    Args:
        client: The engine.
        container: Its whole id.

    Raises:
        EngineError: It does not go.
    """
    try:
        client.api.remove_container(container, v=True, force=True)
    except APIError as error:
        if error.status_code not in {_GONE, _CONFLICT}:  # with either, somebody else removed it, or does
            raise
    deadline = time.monotonic() + GONE_WITHIN_S
    while time.monotonic() < deadline:
        if not _is_there(client, container) and not end_processes(container):
            return
        time.sleep(0.05)
    msg = told("The container %(id)s could not be removed within %(n)s s.", id=container[:12], n=round(GONE_WITHIN_S))
    raise EngineError(msg, fix=told("Run: docker rm -f %(id)s", id=container[:12]))


def end_processes(container: str) -> set[int]:
    """Kill what runs in a container that the engine has forgotten, and return the processes that were there.

    An engine that dies in the middle of a start takes the container for one that never ran, and lets its processes be
    when it is removed. They would hold its address: another server with the same one could not be reached.

    Args:
        container: Its whole id, which names its control group.
    """
    found = set()
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            inside = container in path.read_text()
        except OSError:  # it has ended meanwhile
            continue
        if inside:
            found.add(int(path.parent.name))
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found


def _is_there(client: docker.DockerClient, container: str) -> bool:
    try:
        client.api.inspect_container(container)
    except NotFound:
        return False
    return True


def remove_volumes(client: docker.DockerClient, labels: dict[str, str]) -> set[str]:
    """Remove the volumes with these labels; returns their starts."""
    gone = set()
    for volume in client.api.volumes(filters=_filters(labels))["Volumes"] or []:
        start_id = (volume["Labels"] or {}).get(START_LABEL, "")
        remove_volume(client, volume["Name"])
        gone.add(start_id)
    return gone - {""}


def remove_volume(client: docker.DockerClient, name: str) -> None:
    """Remove a volume that no container uses.

    An engine (20.10, for one) that kept its containers alive through a restart of its own takes their volumes for used
    until the next one. Then the mount at least is ended, so that the overlay's folders are free for the next server.
    """
    try:
        client.api.remove_volume(name)
    except NotFound:
        return
    except APIError as error:
        if _MOUNTED not in str(error.explanation):
            raise
        mounted = client.api.inspect_volume(name)["Mountpoint"]
        subprocess.run(["umount", mounted], capture_output=True, check=False)  # refused while anything uses it


def _filters(labels: dict[str, str]) -> dict[str, list[str]]:
    return {"label": [f"{name}={value}" for name, value in labels.items()]}


def _stop(client: docker.DockerClient, container: str, stop_s: int) -> None:
    try:
        client.api.stop(container, timeout=stop_s)
    except NotFound:
        return
