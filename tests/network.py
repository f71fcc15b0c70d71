"""A network namespace with a way out: what stands in it cannot meet the machine's own services, ports or bridges."""

import contextlib
import ctypes
import hashlib
import ipaddress
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWNET = 0x40000000
POOL = ipaddress.ip_network("10.213.0.0/16")
LINK_PREFIX = 30


class Network:
    """A namespace joined to the machine by a pair of virtual cards, with address translation towards the outside.

    Names and rules are made from the owner's path: two owners never meet, and the next run of one owner finds what a
    killed run left. The machine's forwarding switch is turned on and stays on, as an engine would leave it.

    Args:
        owner: The directory of whatever uses this namespace.
    """

    def __init__(self, owner: Path) -> None:
        self.name = "bnc-" + hashlib.sha256(os.fsencode(owner)).hexdigest()[:6]
        self.path = Path("/run/netns") / self.name
        self.outer, self.inner = f"{self.name}-h", f"{self.name}-n"

    def create(self) -> None:
        """Make the namespace, its link and the rules that let it reach package registries."""
        subnet = self._free_subnet()
        here, there = subnet[1], subnet[2]
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", self.outer, "type", "veth", "peer", "name", self.inner, "netns", self.name)
        run("ip", "addr", "add", f"{here}/{LINK_PREFIX}", "dev", self.outer)
        run("ip", "link", "set", self.outer, "up")
        with self.enter():
            run("ip", "addr", "add", f"{there}/{LINK_PREFIX}", "dev", self.inner)
            run("ip", "link", "set", self.inner, "up")
            run("ip", "link", "set", "lo", "up")
            run("ip", "route", "add", "default", "via", str(here))
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        mark = ("-m", "comment", "--comment", self.name)
        run("iptables", "-w", "-t", "nat", "-A", "POSTROUTING", "-s", str(subnet), *mark, "-j", "MASQUERADE")
        for direction in ("-i", "-o"):
            run("iptables", "-w", "-I", "FORWARD", direction, self.outer, *mark, "-j", "ACCEPT")

    def remove(self) -> bool:
        """Remove whatever is there of it, and say whether anything was."""
        found = False
        for table in ("nat", "filter"):
            listed = subprocess.run(
                ["iptables", "-w", "-t", table, "-S"], capture_output=True, text=True, check=False
            ).stdout
            for rule in (shlex.split(line) for line in listed.splitlines() if self.name in line):
                run("iptables", "-w", "-t", table, "-D", *rule[1:])
                found = True
        if Path("/sys/class/net", self.outer).exists():
            run("ip", "link", "del", self.outer)
            found = True
        outside = self.path.with_name(f"{self.name}-o")  # what tests/e2e/neighbourhood.py made
        for path in (outside, self.path):
            if path.exists():
                for pid in run("ip", "netns", "pids", path.name).split() if path == outside else ():
                    os.kill(int(pid), signal.SIGKILL)
                run("ip", "netns", "del", path.name)
                found = True
        return found

    def processes(self) -> set[int]:
        """Return the processes in the namespace."""
        if not self.path.exists():
            return set()
        inside, found = self.path.stat(), set()
        for path in Path("/proc").glob("[0-9]*/ns/net"):
            with contextlib.suppress(OSError):
                if os.path.samestat(path.stat(), inside):
                    found.add(int(path.parts[2]))
        return found

    @contextlib.contextmanager
    def enter(self) -> Iterator[None]:
        """Move the calling thread into the namespace for a while; processes started meanwhile stay in it.

        Other threads stay where they are. A socket belongs to the namespace that it was opened in, for good.
        """
        libc = ctypes.CDLL(None, use_errno=True)  # os.setns came with Python 3.12

        def move(descriptor: int) -> None:
            if libc.setns(descriptor, CLONE_NEWNET):
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error), str(self.path))

        with contextlib.ExitStack() as stack:
            home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, home)
            target = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, target)
            move(target)
            stack.callback(move, home)
            yield

    def _free_subnet(self) -> ipaddress.IPv4Network:
        routes = json.loads(run("ip", "-json", "-4", "route", "show", "table", "all") or "[]")
        words = [route["dst"] for route in routes if route["dst"][0].isdecimal()]
        used = [network for word in words if (network := ipaddress.ip_network(word, strict=False)).prefixlen]
        subnets = list(POOL.subnets(new_prefix=LINK_PREFIX))
        start = int(self.name.rpartition("-")[2], 16) % len(subnets)
        free = (
            subnet
            for subnet in subnets[start:] + subnets[:start]
            if not any(subnet.overlaps(other) for other in used if other.version == subnet.version)
        )
        return next(free)


def run(*command: str) -> str:
    """Run a program, and return what it printed; its own words are in the error when it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{shlex.join(command)} failed: {result.stderr.strip() or result.stdout.strip()}")
    return result.stdout
