"""Plain containers: what the engine alone needs for the command, environment and mounts of one of our servers.

All is read from a running server by inspecting it, so that nothing is left out or added; only names, labels and token
are the bench's own.
"""

import time
from dataclasses import dataclass
from typing import Any

import docker
import requests

from spawning.client import POLL_S, BenchError

NAME = "bancada-bench-plain"
READY_WITHIN_S = 120.0


@dataclass(frozen=True)
class Recipe:
    """How one of our servers was created.

    Args:
        config: What the engine calls Config.
        host: What the engine calls HostConfig.
        volume: Options of the overlay volume at /opt/env; None without one.
        network: The bridge it is on.
    """

    config: dict[str, Any]
    host: dict[str, Any]
    volume: dict[str, str] | None
    network: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables that do not come from JupyterHub."""
        variables = dict(item.split("=", 1) for item in self.config["Env"])
        return {name: value for name, value in variables.items() if not name.startswith("JUPYTERHUB_")}

    @property
    def prefix(self) -> str:
        """The server's path at the proxy."""
        variables = dict(item.split("=", 1) for item in self.config["Env"])
        return str(variables["JUPYTERHUB_SERVICE_PREFIX"])


def read_recipe(client: docker.DockerClient, site_id: str) -> Recipe:
    """Read how the one running server of a site was created.

    Raises:
        BenchError: There is none, or more than one.
    """
    wanted = {"label": [f"bancada.site={site_id}", "bancada.role=server"]}
    found = client.api.containers(filters=wanted)
    if len(found) != 1:
        raise BenchError(f"{len(found)} servers run where the bench started one.")
    seen = client.api.inspect_container(found[0]["Id"])
    volume = next((item for item in seen["HostConfig"]["Mounts"] if item["Type"] == "volume"), None)
    options = client.api.inspect_volume(volume["Source"])["Options"] if volume else None
    network = next(iter(seen["NetworkSettings"]["Networks"]))
    return Recipe(seen["Config"], seen["HostConfig"], options, network)


def run(client: docker.DockerClient, recipe: Recipe, token: str) -> float:
    """Create and start a container and return the seconds until its server answers.

    Args:
        client: The engine.
        recipe: What to run.
        token: One that the hub knows.

    Raises:
        BenchError: It ended instead.
    """
    mounts = [item | ({"Source": NAME} if item["Type"] == "volume" else {}) for item in recipe.host["Mounts"]]
    variables = [item for item in recipe.config["Env"] if not item.startswith("JUPYTERHUB_API_TOKEN=")]
    body = {
        **recipe.config,
        "Env": [*variables, f"JUPYTERHUB_API_TOKEN={token}"],
        "Labels": {},
        "HostConfig": {**recipe.host, "Mounts": mounts},
    }
    begun = time.monotonic()
    if recipe.volume:
        client.api.create_volume(NAME, driver="local", driver_opts=recipe.volume)
    made = client.api.create_container_from_config(body, NAME)["Id"]  # type: ignore[no-untyped-call]
    client.api.start(made)
    address = client.api.inspect_container(made)["NetworkSettings"]["Networks"][recipe.network]["IPAddress"]
    _wait(client, made, f"http://{address}:8888{recipe.prefix}api")
    return time.monotonic() - begun


def remove(client: docker.DockerClient) -> None:
    """Remove the container and its volume, if they are there."""
    for found in client.containers.list(all=True, filters={"name": NAME}):
        found.remove(force=True, v=True)
    for volume in client.volumes.list(filters={"name": NAME}):
        volume.remove()


def _wait(client: docker.DockerClient, container: str, url: str) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        try:
            if requests.get(url, timeout=5).status_code == 200:
                return
        except requests.RequestException:
            time.sleep(POLL_S)
    log = client.api.logs(container, tail=20).decode("utf-8", "replace")
    raise BenchError(f"The plain container did not answer within {READY_WITHIN_S:.0f} s:\n{log}")
