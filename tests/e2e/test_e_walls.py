"""The walls around a server, felt from the inside of real servers of a real site, and from the outside (D19)."""

import contextlib
import json
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bancada.contract import API_PATH, CONTRACT, CONTRACT_HEADER, PROJECT_PATH
from bancada_hub.host.firewall import Firewall
from bancada_hub.host.ports import Ports
from tests.e2e.conftest import FirstSite
from tests.e2e.inside import REACH, Person, Server
from tests.e2e.neighbourhood import (
    ANYWHERE,
    INSTRUMENT,
    METADATA,
    MIRROR,
    OUTSIDE_NET,
    WEB,
    Neighbourhood,
    neighbourhood,
)
from tests.network import run

pytestmark = [pytest.mark.engine, pytest.mark.database, pytest.mark.timeout(900)]

AT_ONCE_S, HEARD_WITHIN_S = 3.0, 3.0
ANSWERS, REFUSED = "answers", "refused"
EGRESSES = ("open", "mirror", "none")
RESOLVE = """
import socket, sys
try:
    print(socket.getaddrinfo(sys.argv[1], 80)[0][4][0])
except socket.gaierror as error:
    print("no address")
"""
ASK = """
import os, sys, urllib.request
token = {"Authorization": "token " + os.environ["JUPYTERHUB_API_TOKEN"], sys.argv[2]: sys.argv[3]}
print(urllib.request.urlopen(urllib.request.Request(sys.argv[1], headers=token), timeout=20).status)
"""


@dataclass(frozen=True)
class Stage:
    """A site, a server of each egress and one of somebody else, and what stands around them."""

    site: FirstSite
    servers: dict[str, Server]
    peer: Server
    around: Neighbourhood

    @property
    def gateway(self) -> str:
        return self.peer.installation.facts.gateway

    @property
    def ports(self) -> Ports:
        return Ports.from_base(self.site.port)

    def targets(self) -> dict[str, tuple[str, int]]:
        """Return everything near that a server must not reach."""
        return {
            **self.around.services,
            "another server": (self.peer.address, 8888),
            "the site's pages past the browser": (self.gateway, self.ports.public),
            "the proxy's API": (self.gateway, self.ports.proxy_api),
            "the console": (self.gateway, self.ports.console),
            "the metadata address": (METADATA, WEB),
        }


@pytest.fixture(scope="module")
def settings(site: FirstSite) -> Iterator[None]:
    """A network that servers may not reach, and a mirror of packages; both in the outside world."""
    before = site.settings.read_text()
    mirror = f'[packages]\ndebian_mirror = "http://{MIRROR}/debian"\n'
    text = before.replace("[packages]\n", mirror) if "[packages]\n" in before else f"{before}\n{mirror}"
    site.settings.write_text(f'{text}\n[network]\ndenied = ["{OUTSIDE_NET}"]\n')
    assert site.up().status == 0, site.logs()
    yield
    site.settings.write_text(before)
    assert site.up().status == 0, site.logs()


@pytest.fixture(scope="module")
def stage(site: FirstSite, settings: None, run_directory: Path) -> Iterator[Stage]:
    for egress in EGRESSES:
        made = site.run("project", "create", f"walls-{egress}", "--lab", "lab")
        assert made.status == 0, made.text
        changed = site.run("project", "change", f"walls-{egress}", "--egress", egress)
        assert changed.status == 0, changed.text
    mine = [word for egress in EGRESSES for word in ("--project", f"walls-{egress}")]
    ana, bea = Person(site, "walls-ana", *mine), Person(site, "walls-bea", "--project", "walls-open")
    with contextlib.ExitStack() as stack:
        servers = {egress: stack.enter_context(ana.working(f"walls-{egress}", size="s")) for egress in EGRESSES}
        peer = stack.enter_context(bea.working("walls-open", size="s"))
        image, gateway = peer.container.attrs["Image"], peer.installation.facts.gateway
        around = stack.enter_context(neighbourhood(site.engine, image, gateway, run_directory / "walls"))
        yield Stage(site, servers, peer, around)


def reach_from(command: list[str], address: str, port: int) -> str:
    done = subprocess.run([*command, "python3", "-c", REACH, address, str(port)], capture_output=True, check=True)
    return str(json.loads(done.stdout)[0])


def from_container(container: object, address: str, port: int) -> str:
    status, said = container.exec_run(["/opt/env/bin/python", "-c", REACH, address, str(port)])  # type: ignore[attr-defined]
    assert status == 0, said
    return str(json.loads(said)[0])


@pytest.mark.parametrize("egress", EGRESSES)
def test_no_server_reaches_what_stands_around_it(stage: Stage, egress: str) -> None:
    """D19: refused, at once; and each of them answers on the machine itself, so that to be refused means something."""
    answers, felt = {}, {}
    for name, (address, port) in stage.targets().items():
        reachable = (
            "127.0.0.1" if name in ("the site's pages past the browser", "the proxy's API", "the console") else address
        )
        answers[name] = reach_from([], reachable, port)
        said, seconds = stage.servers[egress].reaches(address, port)
        felt[name] = said if seconds < AT_ONCE_S else f"{said}, after {seconds:.1f} s"
    assert answers == dict.fromkeys(answers, ANSWERS)
    assert felt == dict.fromkeys(felt, REFUSED)


@pytest.mark.parametrize("egress", EGRESSES)
def test_every_server_reaches_the_hub_and_the_server_api(stage: Stage, egress: str) -> None:
    base, headers = f"http://{stage.gateway}", (CONTRACT_HEADER, str(CONTRACT))
    project = f"{base}:{stage.ports.server_api}{API_PATH}{PROJECT_PATH}"
    assert stage.servers[egress].python(ASK, f"{base}:{stage.ports.hub}/hub/api/user", *headers) == "200"
    assert stage.servers[egress].python(ASK, project, *headers) == "200"


@pytest.mark.parametrize(
    ("egress", "expected"),
    [
        ("open", {ANYWHERE: ANSWERS, MIRROR: ANSWERS, INSTRUMENT: REFUSED, METADATA: REFUSED}),
        ("mirror", {ANYWHERE: REFUSED, MIRROR: ANSWERS, INSTRUMENT: REFUSED, METADATA: REFUSED}),
        ("none", {ANYWHERE: REFUSED, MIRROR: REFUSED, INSTRUMENT: REFUSED, METADATA: REFUSED}),
    ],
)
def test_a_projects_egress_and_the_sites_denied_networks_hold(
    stage: Stage, egress: str, expected: dict[str, str]
) -> None:
    assert {address: reach_from([], address, WEB) for address in expected} == dict.fromkeys(expected, ANSWERS)
    assert {address: stage.servers[egress].reaches(address, WEB)[0] for address in expected} == expected


def test_nothing_leaks_by_names_from_a_project_without_egress(stage: Stage) -> None:
    """The engine forwards a question for a name from wherever it stands: what is asked can carry data."""
    seen: dict[str, bool] = {}
    for egress in ("open", "none"):
        label = f"leak-{secrets.token_hex(8)}"
        with listening(label) as heard:
            begun = time.monotonic()
            said = stage.servers[egress].python(RESOLVE, f"{label}.invalid")
            seconds = time.monotonic() - begun
            heard.wait(HEARD_WITHIN_S)
        seen[egress] = heard.is_set()
        assert said == "no address"
        assert egress == "open" or seconds < 2 * AT_ONCE_S
    assert seen == {"open": True, "none": False}


@contextlib.contextmanager
def listening(label: str) -> Iterator[threading.Event]:
    """Listen to every frame on every interface of the machine; what is set when one holds a label."""
    heard, over = threading.Event(), threading.Event()

    def listen() -> None:
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                if label.encode() in wire.recv(65_536):
                    heard.set()

    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
        wire.settimeout(0.2)
        listener = threading.Thread(target=listen)
        listener.start()
        try:
            yield heard
        finally:
            over.set()
            listener.join()


def test_nobody_else_reaches_a_server_or_the_hub(stage: Stage) -> None:
    """D19, the other direction: containers of others, other sites and other machines; the machine itself must."""
    server, hub = (stage.peer.address, 8888), (stage.gateway, stage.ports.hub)
    outside = ["nsenter", f"--net=/run/netns/{stage.around.outside}"]
    for address, port in (server, hub):
        assert reach_from([], address, port) == ANSWERS
        assert from_container(stage.around.container, address, port) == REFUSED
        assert from_container(stage.around.other_site, address, port) == REFUSED
        assert reach_from(outside, address, port) == REFUSED


def test_a_server_has_no_ipv6(stage: Stage) -> None:
    said = stage.servers["open"].python("print(open('/proc/net/if_inet6').read())")
    assert [line for line in said.splitlines() if not line.endswith(" lo")] == []


def test_rules_that_somebody_removed_are_back_before_the_next_server_starts(stage: Stage) -> None:
    firewall = Firewall.of(stage.peer.installation)
    assert firewall.in_force()
    run("nft", "delete", "table", "inet", f"bancada_{stage.peer.installation.facts.site_id}")
    assert not firewall.in_force()
    doctor = stage.site.run("doctor")
    assert "The rules that keep servers apart are not in force" in doctor.text or firewall.in_force()  # the clock's
    bea = Person(stage.site, "walls-bea")
    with bea.working(bea.own_project(), size="s"):
        assert firewall.in_force()


def test_what_the_engine_was_asked_for_is_what_is_seen_from_inside(stage: Stage) -> None:
    """D17, D15, E16: looked at from the inside, where a notebook stands."""
    server = stage.servers["open"]
    host = server.container.attrs["HostConfig"]
    assert (host["Privileged"], host["CapAdd"], host["Devices"], host["PidMode"]) == (False, None, None, "")
    assert (host["IpcMode"], host["CgroupnsMode"], host["OomScoreAdj"]) == ("private", "private", 500)
    assert {"/proc/kcore", "/proc/keys", "/sys/firmware"} <= set(host["MaskedPaths"])
    assert {"/proc/sys", "/proc/sysrq-trigger"} <= set(host["ReadonlyPaths"])
    look = "print(os.environ['NVIDIA_VISIBLE_DEVICES'], *Path('/dev').glob('nvidia*'))"
    assert server.python(f"import os; from pathlib import Path; {look}") == "void"
    limits = "import resource as r; print(r.getrlimit(r.RLIMIT_CORE), Path('/proc/self/oom_score_adj').read_text())"
    assert server.python(f"from pathlib import Path; {limits}") == "(0, 0) 500"
    status, said = server.run("touch", "/project/of-mine", f"/home/{server.name}/of-mine", "/opt/env/of-mine")
    assert (status, said) == (0, "")
