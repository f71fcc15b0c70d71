"""A stock JupyterHub with the stock DockerSpawner, beside ours on the same engine.

JupyterHub, DockerSpawner and proxy are the very versions that the product uses. Every setting is JupyterHub's own but
for those without which nothing would start here: addresses, image, network, the folders of a server, a login.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import requests

from bancada_hub.host.proxy import proxy_command
from spawning.client import POLL_S, BenchError, Signed, sign_in
from spawning.plain import Recipe

NETWORK = "bancada-bench-stock"
PASSWORD = "four words for a bench"
UP_WITHIN_S = 60.0
OWN_COMMAND = "/opt/bancada/bin/jupyterhub-singleuser"
CONFIGURATION = '''"""Made by bench/spawn.py."""
import json
from pathlib import Path

values = json.loads(Path(__file__).with_name("values.json").read_text())
c = get_config()  # noqa
c.JupyterHub.bind_url = values["url"]
c.JupyterHub.hub_bind_url = c.JupyterHub.hub_connect_url = values["hub"]
c.ConfigurableHTTPProxy.command = values["proxy"]
c.ConfigurableHTTPProxy.api_url = values["proxy_api"]
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = values["password"]
c.Authenticator.allow_all = True
c.JupyterHub.allow_named_servers = True
c.JupyterHub.spawner_class = "docker"
c.Spawner.start_timeout = c.Spawner.http_timeout = 180
c.DockerSpawner.network_name = values["network"]
c.DockerSpawner.use_internal_ip = True
c.DockerSpawner.remove = True
c.DockerSpawner.pull_policy = "never"


def choose(spawner):
    """Take what the server of this name is measured with."""
    chosen = values["servers"][spawner.name or "default"]
    spawner.image, spawner.cmd = chosen["image"], chosen["command"]
    spawner.environment = chosen["environment"]
    spawner.extra_create_kwargs = {"user": chosen["user"], "working_dir": chosen["home"], "entrypoint": []}
    spawner.extra_host_config = chosen["host"]
    spawner.mem_limit, spawner.cpu_limit = chosen["memory"], chosen["cpus"]


c.Spawner.pre_spawn_hook = choose
'''


@dataclass(frozen=True)
class Kind:
    """What a server of the stock hub is.

    Args:
        recipe: Whose image, mounts, variables and limits it gets.
        command: What it runs.
    """

    recipe: Recipe
    command: list[str]

    def values(self) -> dict[str, Any]:
        """Return it as its hub reads it."""
        host = self.recipe.host
        environment = self.recipe.environment
        mounts = [item for item in host["Mounts"] if item["Type"] == "bind"]
        return {
            "image": self.recipe.config["Image"],
            "command": self.command,
            "environment": environment,
            "user": self.recipe.config["User"],
            "home": environment["HOME"],
            "host": {
                "mounts": mounts,
                "tmpfs": host["Tmpfs"],
                "group_add": host["GroupAdd"],
                "init": True,
            },
            "memory": host["Memory"],
            "cpus": host["NanoCpus"] / 1e9,
        }


class StockHub:
    """The stock hub.

    Args:
        client: The engine.
        folder: Gets its configuration, database and log.
        port: The first of three.
    """

    def __init__(self, client: docker.DockerClient, folder: Path, port: int) -> None:
        self._client, self._folder, self._port = client, folder, port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where its proxy answers."""
        return f"http://127.0.0.1:{self._port}"

    def up(self, servers: dict[str, Kind]) -> None:
        """Start it; what it can start is named here.

        Raises:
            BenchError: It does not come up.
        """
        self._folder.mkdir(parents=True)
        network = self._client.networks.create(NETWORK, driver="bridge")
        gateway = self._client.api.inspect_network(str(network.id))["IPAM"]["Config"][0]["Gateway"]
        values = {
            "url": self.url,
            "hub": f"http://{gateway}:{self._port + 1}",
            "proxy_api": f"http://127.0.0.1:{self._port + 2}",
            "proxy": proxy_command(),
            "password": PASSWORD,
            "network": NETWORK,
            "servers": {name: kind.values() for name, kind in servers.items()},
        }
        (self._folder / "values.json").write_text(json.dumps(values))
        (self._folder / "jupyterhub_config.py").write_text(CONFIGURATION)
        with (self._folder / "hub.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub"], cwd=self._folder, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + UP_WITHIN_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise BenchError(f"The stock hub did not come up:\n{self.log()}")
            time.sleep(POLL_S)

    def sign_in(self, name: str) -> Signed:
        """Sign a person in."""
        return sign_in(self.url, name, PASSWORD)

    def down(self) -> None:
        """End it, its proxy, its containers and its network."""
        if self._process:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()
        for network in self._client.networks.list(names=[NETWORK]):
            for container in self._client.containers.list(all=True, filters={"network": NETWORK}):
                container.remove(force=True, v=True)
            network.remove()

    def log(self) -> str:
        """Return the end of what it wrote; empty before it was started."""
        path = self._folder / "hub.log"
        return path.read_text(errors="replace")[-2000:] if path.exists() else ""

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.url}/hub/api", timeout=5).ok
        except requests.RequestException:
            return False
