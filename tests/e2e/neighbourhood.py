"""What stands around a site's servers: other containers, another site, the machine's services, the outside world.

The outside is a network namespace of its own behind the machine's router: packets to it are forwarded and their
addresses translated, as on a real machine.
"""

import contextlib
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from socket import AF_UNIX, SHUT_RDWR, SHUT_WR, create_server, socket

import docker

from bancada_hub.launch.network import ensure_network
from tests.conftest import find_free_ports
from tests.engine import TestEngine
from tests.network import run
from tests.postgres import Postgres

OTHER_SITE = "5e55104c"
METADATA, INSTRUMENT, MIRROR, ANYWHERE = "169.254.169.254", "198.18.77.5", "198.18.78.5", "198.18.79.5"
OUTSIDE_NET = "198.18.77.0/24"
"""Where the instrument stands, and what a site denies its servers."""
WEB = 80
_ROUTER, _HOST, _PREFIX = "198.18.70.1", "198.18.70.2", 30
HELLO = "import socket;s=socket.create_server(('',8888));\nwhile 1: s.accept()[0].close()"


@dataclass(frozen=True)
class Neighbourhood:
    """Addresses and ports, each of which answers on the machine itself.

    Args:
        services: What listens on the machine, by name: address and port.
        container: A container of somebody else, on the engine's own bridge.
        other_site: A container on another site's bridge.
        outside: Name of the namespace of the outside world.
    """

    services: dict[str, tuple[str, int]]
    container: "docker.models.containers.Container"
    other_site: "docker.models.containers.Container"
    outside: str


@contextlib.contextmanager
def neighbourhood(engine: TestEngine, image: str, gateway: str, scratch: Path) -> Iterator[Neighbourhood]:
    """Build the neighbourhood of a site, and take it away again.

    Args:
        engine: The engine of the site.
        image: An image with Python at /opt/env.
        gateway: The address of the site's bridge on the machine.
        scratch: A new directory.
    """
    with contextlib.ExitStack() as stack, contextlib.closing(engine.client()) as client:
        stack.enter_context(engine.enter())
        outside = stack.enter_context(_outside(engine))
        port = find_free_ports(6)
        database = Postgres(scratch / "postgres", port, listen="*").start()
        stack.callback(database.stop)
        stack.enter_context(_relay(port + 1, engine.host.removeprefix("unix://")))
        other = ensure_network(client, OTHER_SITE)
        stack.callback(client.networks.get(other.name).remove)
        stack.enter_context(_relay(port + 2, engine.host.removeprefix("unix://"), other.gateway))
        published = {"8888/tcp": ("0.0.0.0", port + 3)}
        container = _container(client, image, stack, ports=published)
        sibling = _container(client, image, stack, network=other.name)
        bridge = container.attrs["NetworkSettings"]["Networks"]["bridge"]["Gateway"]
        services = {
            "the database": (gateway, port),
            "the database, by the address of docker0": (bridge, port),
            "the engine": (gateway, port + 1),
            "the engine, by the address of docker0": (bridge, port + 1),
            "another site's hub": (other.gateway, port + 2),
            "a port published on 0.0.0.0": (gateway, port + 3),
            "a port published on 0.0.0.0, by the address of docker0": (bridge, port + 3),
            "the container behind the published port": (_address(container), 8888),
            "a server of another site": (_address(sibling), 8888),
        }
        yield Neighbourhood(services, container, sibling, outside)


def _container(
    client: docker.DockerClient, image: str, stack: contextlib.ExitStack, **more: object
) -> "docker.models.containers.Container":
    made = client.containers.run(
        image, ["-c", HELLO], entrypoint=["/opt/env/bin/python"], user="65534", init=True, detach=True, **more
    )
    stack.callback(made.remove, force=True)
    made.reload()
    return made


def _address(container: "docker.models.containers.Container") -> str:
    (network,) = container.attrs["NetworkSettings"]["Networks"].values()
    return str(network["IPAddress"])


@contextlib.contextmanager
def _outside(engine: TestEngine) -> Iterator[str]:
    """Make a namespace behind a veth, with a web server at each of its addresses. The caller stands in the engine's."""
    name = f"{engine.namespace}-o"
    inner = name[-8:] + "-i"
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)  # what a killed run left
    run("ip", "netns", "add", name)
    servers = []
    try:
        run("ip", "link", "add", inner, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "addr", "add", f"{_ROUTER}/{_PREFIX}", "dev", inner)
        run("ip", "link", "set", inner, "up")
        there = ("nsenter", f"--net=/run/netns/{name}")
        run(*there, "ip", "addr", "add", f"{_HOST}/{_PREFIX}", "dev", "eth0")
        run(*there, "ip", "link", "set", "lo", "up")
        run(*there, "ip", "link", "set", "eth0", "up")
        run(*there, "ip", "route", "add", "default", "via", _ROUTER)
        for address in (METADATA, INSTRUMENT, MIRROR, ANYWHERE):
            run(*there, "ip", "addr", "add", f"{address}/32", "dev", "eth0")
            run("ip", "route", "add", address, "via", _HOST)
        command = [*there, "python3", "-m", "http.server", str(WEB), "--directory", "/var/empty"]
        Path("/var/empty").mkdir(exist_ok=True)
        servers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        yield name
    finally:
        for server in servers:
            server.kill()
            server.wait()
        run("ip", "netns", "del", name)


@contextlib.contextmanager
def _relay(port: int, path: str, address: str = "0.0.0.0") -> Iterator[None]:
    """Listen on a port and pass what comes on to a Unix socket: the engine, opened to the network by somebody."""

    def take() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_pass_on, args=(caller, path), daemon=True).start()

    with create_server((address, port)) as listener:
        threading.Thread(target=take, daemon=True).start()
        yield
        listener.shutdown(SHUT_RDWR)


def _pass_on(caller: socket, path: str) -> None:
    with caller, socket(AF_UNIX) as engine, contextlib.suppress(OSError):
        engine.connect(path)
        back = threading.Thread(target=_copy, args=(engine, caller), daemon=True)
        back.start()
        _copy(caller, engine)
        back.join()


def _copy(source: socket, target: socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(SHUT_WR)
