"""From a plan to a running container and back: the only module that tells an engine what to create.

`create_body` is the whole request, made of the plan and of the hub's variables and of nothing else.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

import docker
from docker.errors import APIError, ImageNotFound, NotFound

from bancada_hub.errors import LaunchRefused, told
from bancada_hub.host.address_classes import free_addresses
from bancada_hub.host.firewall_rules import NO_RESOLVER
from bancada_hub.launch.names import host_name
from bancada_hub.launch.plan import LaunchPlan, Overlay, Tmpfs
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.removal import remove_container

PORT = 8888
LOG_LINES = 200
OOM_SCORE_ADJUST = 500
"""When this machine itself runs out of memory, the kernel ends people's servers before hub, console or database."""

_CONFLICT = 409
_ADDRESS_TAKEN = "Address already in use"
_STRIDE = 61
_NO_NAMES: dict[str, dict[str, list[str]]] = {"none": {"Dns": [NO_RESOLVER], "DnsOptions": ["timeout:1", "attempts:1"]}}
_CANNOT_MOUNT = ("failed to mount local volume", "error while mounting volume")


@dataclass(frozen=True)
class Running:
    """A started container and its address on the site's bridge."""

    id: str
    address: str


class StartAbandonedError(Exception):
    """Nobody waits for this start any more."""


def create_body(plan: LaunchPlan, start_id: str, environment: dict[str, str], address: str) -> dict[str, Any]:
    """Return the body of the engine's request to create a server's container.

    Args:
        plan: What to start.
        start_id: This start.
        environment: All of the server's variables.
        address: The server's on the bridge, out of those for the plan's egress.
    """
    limits = plan.resources
    return {
        "Image": plan.image_digest,
        "Entrypoint": list(plan.command),
        "Env": [f"{name}={value}" for name, value in sorted(environment.items())],
        "Hostname": host_name(plan.user, plan.project),
        "User": f"{plan.uid}:{plan.gid}",
        "WorkingDir": environment["HOME"],
        "Labels": plan.labels(start_id),
        "Healthcheck": {"Test": ["NONE"]},
        "StopSignal": "SIGTERM",
        "NetworkingConfig": {"EndpointsConfig": {plan.network: {"IPAMConfig": {"IPv4Address": address}}}},
        "HostConfig": {
            "Mounts": _mounts(plan, start_id),
            "Tmpfs": {item.target: _tmpfs(item, plan) for item in plan.tmpfs},
            "NetworkMode": plan.network,
            **_NO_NAMES.get(plan.egress, {}),
            "IpcMode": "private",
            "CgroupnsMode": "private",
            "Privileged": False,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "GroupAdd": [str(group) for group in plan.groups],
            "Init": True,
            "NanoCpus": int(limits.cpus * 1e9),
            "Memory": limits.memory_bytes,
            "MemorySwap": limits.memory_bytes,  # the sum of both: no swap, whose slowness looks like a hang
            "ShmSize": limits.shm_bytes,
            "PidsLimit": limits.pids,
            "OomScoreAdj": OOM_SCORE_ADJUST,
            "Ulimits": [{"Name": item.name, "Soft": item.soft, "Hard": item.hard} for item in limits.ulimits],
            "DeviceRequests": _devices(plan),
            "RestartPolicy": {"Name": "no"},
            "AutoRemove": False,  # the log of a start that failed is read first
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "2"}},
        },
    }


def _devices(plan: LaunchPlan) -> list[dict[str, Any]]:
    """Return what asks the engine for the cards of the lease, each by its UUID: a number may name another tomorrow."""
    cards = plan.resources.gpu_uuids
    if not cards or plan.resources.simulated_cards:
        return []
    return [{"Driver": "nvidia", "DeviceIDs": list(cards), "Capabilities": [["gpu"]]}]


def overlay_options(overlay: Overlay) -> dict[str, str]:
    """Return the options by which the engine's own volume driver mounts an overlay."""
    lowers = ":".join(str(lower) for lower in overlay.lowers)
    return {
        "type": "overlay",
        "device": "overlay",
        "o": f"lowerdir={lowers},upperdir={overlay.upper},workdir={overlay.work}",
    }


def bring_up(
    client: docker.DockerClient,
    plan: LaunchPlan,
    start_id: str,
    environment: dict[str, str],
    abandoned: threading.Event,
) -> Running:
    """Create and start a server's container. What was made stays when it fails: `take_down` removes it.

    Args:
        client: The engine.
        plan: What to start.
        start_id: This start.
        environment: All of the server's variables.
        abandoned: Set when nobody waits any more.

    Raises:
        LaunchRefused: The image or the overlay is not what it must be.
        StartAbandonedError: `abandoned` was set.
        APIError: The engine refused for another reason.
    """
    verify_image(client, plan)
    if plan.overlay:
        client.api.create_volume(
            plan.volume_name(start_id),
            driver="local",
            driver_opts=overlay_options(plan.overlay),
            labels=plan.labels(start_id),
        )
    for address in _addresses(client, plan):
        made = _create(client, plan, create_body(plan, start_id, environment, address))
        if abandoned.is_set():
            raise StartAbandonedError
        if _start(client, made):
            return Running(made, address)
        remove_container(client, made)  # another server took the address meanwhile
    raise LaunchRefused(
        told("Every address for servers of this project's kind of network access is in use on this machine."),
        fix=told("Ask somebody to stop a server, or an administrator to choose a larger network.subnet."),
        reason=Reason.NO_ADDRESS,
    )


def verify_image(client: docker.DockerClient, plan: LaunchPlan) -> None:
    """Make sure that the image is there and that its tag names no other.

    Raises:
        LaunchRefused: It is missing, or somebody moved the tag.
    """
    ask = told("Ask an administrator to run ./bancada up, which builds it again.")
    try:
        client.images.get(plan.image_digest)
    except ImageNotFound as error:
        msg = told(
            "The image %(tag)s (%(digest)s…) is no longer on this machine.",
            tag=plan.image_tag,
            digest=plan.image_digest[:19],
        )
        raise LaunchRefused(msg, fix=ask, reason=Reason.IMAGE_MISSING) from error
    try:
        found = client.images.get(plan.image_tag).id or ""
    except ImageNotFound:
        found = ""
    if found != plan.image_digest:
        words = {"tag": plan.image_tag, "found": found[:19], "built": plan.image_digest[:19]}
        msg = told("The image was tampered with: its tag %(tag)s is gone, where %(built)s… was built.", **words)
        if found:
            msg = told(
                "The image was tampered with: its tag %(tag)s names another image (%(found)s…), where %(built)s… was "
                "built.",
                **words,
            )
        raise LaunchRefused(msg, fix=ask, reason=Reason.IMAGE_TAMPERED)


def has_ended(client: docker.DockerClient, container: str) -> bool:
    """Return whether a container is not running, or not there at all."""
    return exit_status(client, container) is not None


def exit_status(client: docker.DockerClient, container: str) -> int | None:
    """Return a container's exit status; None while it runs, 0 when it is gone."""
    try:
        state = client.api.inspect_container(container)["State"]
    except NotFound:
        return 0
    return None if state["Running"] else int(state["ExitCode"])


def last_words(client: docker.DockerClient, container: str) -> str:
    """Return the end of a container's log; empty when it is gone."""
    try:
        log: bytes = client.api.logs(container, stdout=True, stderr=True, tail=LOG_LINES)
    except NotFound:
        return ""
    return log.decode("utf-8", "replace")


def _addresses(client: docker.DockerClient, plan: LaunchPlan) -> Iterator[str]:
    """Yield the addresses that the engine has for this plan's egress, as far as it knows now."""
    found = client.api.inspect_network(plan.network)
    used = [item["IPv4Address"].partition("/")[0] for item in (found.get("Containers") or {}).values()]
    subnet = IPv4Network(found["IPAM"]["Config"][0]["Subnet"])
    return free_addresses(subnet, plan.egress, [address for address in used if address], _wish(plan))


def _wish(plan: LaunchPlan) -> int:
    return plan.uid + _STRIDE * plan.key.project_id


def _create(client: docker.DockerClient, plan: LaunchPlan, body: dict[str, Any]) -> str:
    made = _create_once(client, plan, body)
    if not made:
        _clear_name(client, plan)
        made = _create_once(client, plan, body)
    if not made:
        raise LaunchRefused(
            told(
                "The container engine keeps the name %(name)s for a container that is gone.", name=plan.container_name
            ),
            fix=told(
                "Try again in a minute; if it happens again, ask an administrator to restart the container engine."
            ),
            reason=Reason.NAME_TAKEN,
        )
    return made


def _create_once(client: docker.DockerClient, plan: LaunchPlan, body: dict[str, Any]) -> str:
    """Create a container; return its id, empty when its name is in use."""
    try:
        made: str = client.api.create_container_from_config(body, plan.container_name)["Id"]  # type: ignore[no-untyped-call]
    except APIError as error:
        if error.status_code == _CONFLICT:
            return ""
        raise
    return made


def _clear_name(client: docker.DockerClient, plan: LaunchPlan) -> None:
    """Remove what has a plan's name: a start of the same server that was cut off.

    Raises:
        LaunchRefused: Somebody else's container has it.
    """
    for found in client.api.containers(all=True, filters={"name": f"^/{plan.container_name}$"}):
        if not plan.key.labels.items() <= (found["Labels"] or {}).items():
            raise LaunchRefused(
                told("A container that Bancada did not make has the name %(name)s.", name=plan.container_name),
                fix=told("Ask an administrator to remove or rename it."),
                reason=Reason.NAME_TAKEN,
            )
        remove_container(client, found["Id"])


def _start(client: docker.DockerClient, container: str) -> bool:
    """Start a container; return False when its address is in use."""
    try:
        client.api.start(container)
    except APIError as error:
        explanation = str(error.explanation)
        if _ADDRESS_TAKEN in explanation:
            return False
        if any(sign in explanation for sign in _CANNOT_MOUNT):
            raise _overlay_broken(explanation) from error
        raise
    return True


def _mounts(plan: LaunchPlan, start_id: str) -> list[dict[str, Any]]:
    # Not “binds”: for those the engine makes a missing source by itself, as root's.
    mounts: list[dict[str, Any]] = [
        {
            "Type": "bind",
            "Source": str(item.source),
            "Target": item.target,
            "ReadOnly": item.read_only,
            "BindOptions": {"Propagation": "rprivate"},
        }
        for item in plan.mounts
    ]
    if plan.overlay:
        volume = plan.volume_name(start_id)
        mounts.append({"Type": "volume", "Source": volume, "Target": "/opt/env", "VolumeOptions": {"NoCopy": True}})
    return mounts


def _tmpfs(item: Tmpfs, plan: LaunchPlan) -> str:
    return f"rw,nosuid,nodev,size={item.size_bytes},mode=0700,uid={plan.uid},gid={plan.gid}"


def _overlay_broken(explanation: str) -> LaunchRefused:
    detail = explanation.rsplit("data: ", 1)[-1].rsplit(": ", 1)[-1]
    return LaunchRefused(
        told("Your changes to the environment could not be mounted (%(detail)s).", detail=detail),
        fix=told(
            "Start in safe mode, or reset the environment; an administrator finds the details in the log of the hub."
        ),
        reason=Reason.OVERLAY_BROKEN,
    )
