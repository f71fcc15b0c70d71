"""The five ports of a site, and who holds one that is taken."""

import errno
import os
import socket
from collections.abc import Collection
from dataclasses import dataclass

import psutil

from bancada_hub.errors import HostError
from bancada_hub.host.programs import Services

LOOPBACK = "127.0.0.1"
LAST_PORT = 65535
PROPOSAL_STEP = 10
SHOWN_COMMAND_LENGTH = 80


@dataclass(frozen=True)
class Ports:
    """The ports of a site.

    Args:
        public: Where people reach it.
        proxy_api: Where the hub tells the proxy its routes.
        console: Where the proxy reaches the console.
        hub: Where the proxy and people's servers reach the hub.
        server_api: Where people's servers reach the console.
    """

    public: int
    proxy_api: int
    console: int
    hub: int
    server_api: int

    @classmethod
    def from_base(cls, base: int) -> "Ports":
        """Return the ports of a site whose public one is `base`."""
        return cls(base, base + 1, base + 2, base + 3, base + 4)


def check_ports(bind: str, gateway: str, ports: Ports, services: Services) -> None:
    """Refuse a start whose ports somebody else holds; the site's own programs may hold them.

    Args:
        bind: Where the site listens for people.
        gateway: Where hub and console listen for people's servers.
        ports: The site's ports.
        services: What runs the site's programs.

    Raises:
        HostError: A port is taken, or an address is not this machine's.
    """
    ours = services.pids()
    for address, port in (
        (bind, ports.public),
        (LOOPBACK, ports.proxy_api),
        (LOOPBACK, ports.console),
        (gateway, ports.hub),
        (gateway, ports.server_api),
    ):
        free_or_raise(address, port, ours=ours, base=ports.public)


def free_or_raise(address: str, port: int, *, ours: Collection[int] = (), base: int | None = None) -> None:
    """Return when a port can be listened on, or one of our own processes does so already.

    Args:
        address: The address to listen on.
        port: The port.
        ours: Process ids that may hold it.
        base: The public port of the site, from where free ones are looked for; `port` by default.

    Raises:
        HostError: Somebody else holds it, or this machine does not have the address.
    """
    problem = _try(address, port)
    if problem is None:
        return
    if problem.errno == errno.EADDRNOTAVAIL:
        raise HostError(
            f"This machine does not have the address {address}.",
            fix='Set another in bancada.toml, such as bind = "127.0.0.1"; this machine\'s are shown by: ip address',
        )
    if problem.errno == errno.EACCES:
        raise HostError(f"Only root may listen on port {port}.", fix="Run it as root, or choose another with --port N.")
    if problem.errno != errno.EADDRINUSE:
        raise HostError(f"Port {port} on {address} cannot be used: {problem.strerror}.", fix="Choose another: --port N")
    pid = _holder(port)
    if pid is not None and pid in ours:
        return
    raise HostError(
        f"Port {port} on {address} is in use by {_named(pid)}.",
        fix=f"End that process, or choose another with --port N{_proposal(address, base or port)}.",
    )


def _try(address: str, port: int) -> OSError | None:
    """Listen on a port for a moment; return what the system said against it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, port))
            listener.listen(1)
        except OSError as error:
            return error
    return None


def _holder(port: int) -> int | None:
    """Return the id of the process that listens on a port, or None when this account may not see it."""
    try:
        listening = [found for found in psutil.net_connections("tcp") if found.status == psutil.CONN_LISTEN]
    except psutil.AccessDenied:
        return None
    pids = [found.pid for found in listening if found.laddr and found.laddr[1] == port]
    return next((pid for pid in pids if pid is not None), None)


def _named(pid: int | None) -> str:
    """Return a process as a person recognises it."""
    if pid is None:
        whose = "" if os.geteuid() == 0 else " of another account"
        return f"a process{whose} that this one cannot see"
    try:
        process = psutil.Process(pid)
        command = " ".join(process.cmdline())[:SHOWN_COMMAND_LENGTH]
        return f"{process.name()} (process {pid}: {command})"
    except psutil.Error:
        return f"process {pid}"


def first_free(base: int, address: str = LOOPBACK) -> int | None:
    """Return the first base port from `base` up that has all five ports free."""
    for found in range(base, LAST_PORT - 4, PROPOSAL_STEP):
        if all(_try(address, port) is None for port in range(found, found + 5)):
            return found
    return None


def _proposal(address: str, base: int) -> str:
    """Return the next base port that has all five ports free, as the end of a sentence."""
    found = first_free(base + PROPOSAL_STEP, address)
    return f"; {found} to {found + 4} are free: --port {found}" if found else ""
