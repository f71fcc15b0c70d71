"""A site's firewall: put in force, looked at before every start, put back when somebody took it away.

What was put in force is kept in a file, the rules as written and as nftables lists them: whether they are in force is
one question to nftables and one comparison, and every program of the site gives the same answer.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bancada_hub.errors import HostError
from bancada_hub.host.daemon import SYSTEM_PATH
from bancada_hub.host.egress import endpoints, look_up, reachable
from bancada_hub.host.firewall_rules import Wall, ruleset, table_name
from bancada_hub.host.ports import Ports
from bancada_hub.host.programs import write_private
from bancada_hub.installation import Installation

PACKAGE = "nftables"
REASON = "Bancada keeps people's servers apart with firewall rules of its own."
NFT_WITHIN_S = 20.0
BRIDGED = Path("/proc/sys/net/bridge")
_SWITCHES = ("bridge-nf-call-iptables", "bridge-nf-call-ip6tables")
_SYSTEMD_RESOLVED = Path("/run/systemd/resolve/resolv.conf")


@dataclass(frozen=True)
class Kept:
    """What was put in force last.

    Args:
        rules: The input of nft.
        listed: What nft said afterwards.
        addresses: Of each host that packages come from, and when each was last seen.
    """

    rules: str = ""
    listed: str = ""
    addresses: dict[str, dict[str, float]] = field(default_factory=dict)


class Firewall:
    """The rules of one site, in the network namespace of whoever calls.

    Args:
        site_id: 8 hex digits.
        directory: Where it keeps what it put in force.
        describe: Returns what the rules must be now and the addresses behind them, from those that are known.
    """

    def __init__(self, site_id: str, directory: Path, describe: Callable[[Kept], tuple[Wall, Kept]]) -> None:
        self._table = table_name(site_id)
        self._file = directory / "firewall.json"
        self._describe = describe
        self._lock = threading.Lock()

    @classmethod
    def of(cls, installation: Installation) -> "Firewall":
        """Return the firewall of an installed site."""
        return cls(
            installation.facts.site_id, installation.places.run, lambda kept: describe_installation(installation, kept)
        )

    def ensure(self) -> bool:
        """Put the rules in force as they must be now; return whether anything had to be done.

        Looks up the names of the package sources, which may take seconds: for `up`, the hub's start and the clock.

        Raises:
            HostError: They cannot be put in force.
        """
        with self._alone():
            before = self._kept()
            wall, now = self._describe(before)
            rules = ruleset(wall)
            if rules == before.rules and self._holds(before):
                if now.addresses != before.addresses:
                    self._keep(Kept(before.rules, before.listed, now.addresses))
                return False
            self._apply(rules, now.addresses)
            return True

    def hold(self) -> bool:
        """Make sure, for a start, that the rules are in force; return whether they had to be put back.

        Raises:
            HostError: They are not, and cannot be put in force.
        """
        with self._alone():
            kept = self._kept()
            if self._holds(kept):
                return False
            if kept.rules:
                self._apply(kept.rules, kept.addresses)
                return True
        return self.ensure()

    def in_force(self) -> bool:
        """Say whether the rules are in force as they were last put.

        Raises:
            HostError: nft is missing or fails.
        """
        return self._holds(self._kept())

    def remove(self) -> None:
        """Remove the site's rules: for a site that is down."""
        with self._alone():
            _nft(f"table inet {self._table} {{}}\ndelete table inet {self._table}\n")
            self._file.unlink(missing_ok=True)

    def _holds(self, kept: Kept) -> bool:
        return bool(kept.rules) and _switched_on() and self._list() == kept.listed

    def _apply(self, rules: str, addresses: dict[str, dict[str, float]]) -> None:
        _switch_on()
        _nft(rules)
        self._keep(Kept(rules, self._list(), addresses))

    def _list(self) -> str:
        """Return the table as it is now, or nothing."""
        done = _run_nft("--stateless", "list", "table", "inet", self._table)
        return done.stdout if done.returncode == 0 else ""

    def _kept(self) -> Kept:
        try:
            return Kept(**json.loads(self._file.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):
            return Kept()  # what cannot be read is put in force again

    def _keep(self, kept: Kept) -> None:
        write_private(self._file, json.dumps(asdict(kept)))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads, and other programs of the site, out for a while."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock, self._file.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def describe_installation(installation: Installation, kept: Kept) -> tuple[Wall, Kept]:
    """Return what a site's rules must be now, and the addresses behind them."""
    facts, site = installation.facts, installation.site
    ports, found = Ports.from_base(site.port), endpoints(site.packages.sources())
    addresses = look_up(found, kept.addresses, time.time())
    wall = Wall(
        site_id=facts.site_id,
        bridge=facts.bridge,
        subnet=facts.subnet,
        gateway=facts.gateway,
        ports=(ports.hub, ports.server_api),
        denied=site.network.denied,
        sources=reachable(found, addresses),
        resolvers=resolvers_of(_resolver_text()),
        uplinks=uplinks_of(Path("/proc/thread-self/net/route").read_text()),
    )
    return wall, Kept(kept.rules, kept.listed, addresses)


def resolvers_of(text: str) -> tuple[str, ...]:
    """Return the name servers that containers may ask, from the text of a resolv.conf(5)."""
    words = [line.split() for line in text.splitlines()]
    found = {parts[1] for parts in words if len(parts) > 1 and parts[0] == "nameserver"}
    return tuple(sorted(address for address in found if ":" not in address and not address.startswith("127.")))


def uplinks_of(text: str) -> tuple[str, ...]:
    """Return the interfaces of default routes, from the text of /proc/net/route."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return tuple(sorted({row[0] for row in rows if row[1] == row[7] == "00000000"}))


def _resolver_text() -> str:
    text = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace")
    if not resolvers_of(text) and _SYSTEMD_RESOLVED.exists():  # a stub on loopback; the engine looks here too
        return _SYSTEMD_RESOLVED.read_text(encoding="utf-8", errors="replace")
    return text


def _switched_on() -> bool:
    """Say whether the kernel shows us what goes from one container of a bridge to another."""
    with contextlib.suppress(OSError):
        return all((BRIDGED / name).read_text().strip() == "1" for name in _SWITCHES)
    return False


def _switch_on() -> None:
    if not BRIDGED.exists():
        subprocess.run(["modprobe", "br_netfilter"], env=_environment(), capture_output=True, check=False)
    try:
        for name in _SWITCHES:
            (BRIDGED / name).write_text("1")
    except OSError as error:
        msg = f"The kernel does not show what goes from one container to another: {error}."
        raise HostError(msg, fix="Run: modprobe br_netfilter") from error


def _nft(text: str) -> None:
    done = _run_nft("--file", "-", text=text)
    if done.returncode:
        msg = f"nftables does not take the site's firewall rules: {done.stderr.strip()[:500]}"
        raise HostError(msg, fix="See what this machine's kernel can do: nft list ruleset")


def _run_nft(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["nft", *arguments],
            input=text,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=NFT_WITHIN_S,
            check=False,
        )
    except FileNotFoundError as error:
        msg = "The program nft, which sets firewall rules, is not on this machine."
        raise HostError(msg, fix=f"Run ./bancada up, or: apt-get install {PACKAGE}") from error
    except subprocess.TimeoutExpired as error:
        msg = f"nftables did not answer within {NFT_WITHIN_S:.0f} s."
        raise HostError(msg, fix="Find out what holds it: nft list ruleset") from error


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATH}", "LC_ALL": "C.UTF-8"}


def has_nft() -> bool:
    """Say whether nftables' program is there."""
    return shutil.which("nft", path=_environment()["PATH"]) is not None
