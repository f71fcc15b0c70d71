"""A hostile notebook: what it tries from inside a real server of a real site, one by one, and what refuses it.

The names are those of the threat model (docs/admin/threat-model.md). What is tried is in attempts.py and
attempts_network.py, which run inside the server as its person.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

import pytest
import requests

from bancada.contract import API_PATH
from bancada_hub.host.address_classes import class_network
from bancada_hub.host.ports import Ports
from bancada_hub.host.services import services_for
from tests.e2e.attempts import ATTEMPTS
from tests.e2e.conftest import FirstSite
from tests.e2e.inside import Person, Server

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

GIB = 1024**3
EPERM, EACCES, EROFS, ENOENT = "EPERM", "EACCES", "EROFS", "ENOENT"
NOT_FOUND_OR_NOT_YOURS = ("HTTP 403", "HTTP 404")

FILES = {
    "read_another_home": (ENOENT,),
    "read_another_home_by_its_path_on_the_machine": (ENOENT,),
    "read_another_projects_folder": (ENOENT,),
    "climb_out_of_the_projects_folder": (ENOENT,),
    "read_the_hubs_database": (ENOENT,),
    "open_a_file_of_the_machine_by_its_number": (EPERM,),
    "change_what_servers_run": (EROFS,),
    "become_somebody_else_in_passwd": (EROFS, EACCES),
    "change_a_data_set": (EROFS, EACCES),
    "reach_the_engine_by_its_socket": (ENOENT,),
    "reach_a_socket_without_a_path": ("there is none",),
}
KERNEL = {
    "mount_something": (EPERM,),
    "unmount_what_is_read_only": (EPERM,),
    "mount_by_a_program_with_roots_rights": ("mount: /tmp: must be superuser to use mount.",),
    "become_root": (EPERM,),
    "join_another_group": (EPERM,),
    "have_a_user_namespace": (EPERM,),
    "have_a_mount_namespace": (EPERM,),
    "have_a_network_namespace": (EPERM,),
    "change_the_root": (EPERM,),
    "see_the_hubs_process": (ENOENT, "it is another process of this server"),
    "see_others_processes": ("there are none",),
    "trace_a_process_of_the_machine": (EPERM, "ESRCH"),
    "load_a_kernel_module": (EPERM,),
    "load_another_kernel": (EPERM,),
    "run_a_program_in_the_kernel": (EPERM,),
    "watch_the_machine_by_its_counters": (EPERM,),
    "read_the_kernels_keys": (EPERM,),
    "read_the_kernels_log": (EPERM,),
    "make_a_device": (EPERM,),
    "change_a_switch_of_the_kernel": (EROFS, EACCES),
    "write_to_a_control_group": (EROFS, EACCES),
    "set_the_clock": (EPERM,),
    "name_the_machine": (EPERM,),
    "come_before_everybody_else": (EPERM,),
    "raise_a_limit": ("not allowed to raise maximum limit",),
}
SHARES = {
    "fork_without_end": ("EAGAIN",),
    "fill_the_memory": ("the kernel ended it",),
    "fill_the_shared_memory": ("ENOSPC",),
    "fill_the_runtime_folder": ("ENOSPC",),
}
NETWORK = {
    "reach_another_server": ("ECONNREFUSED",),
    "reach_the_proxys_api": ("ECONNREFUSED",),
    "reach_the_consoles_pages_past_the_proxy": ("ECONNREFUSED",),
    "reach_a_service_of_the_machine": ("ECONNREFUSED",),
    "reach_the_metadata_address": ("ECONNREFUSED",),
    "send_raw_packets": (EPERM,),
    "listen_to_the_wire": (EPERM,),
    "take_another_address": (EPERM,),
    "send_from_another_address": ("EINVAL", "ENETUNREACH"),
    "pretend_to_be_a_router": (EPERM,),
}
TOKENS = {
    "list_people": ("HTTP 403",),
    "read_another_person": NOT_FOUND_OR_NOT_YOURS,
    "start_another_persons_server": NOT_FOUND_OR_NOT_YOURS,
    "stop_another_persons_server": NOT_FOUND_OR_NOT_YOURS,
    "start_a_server_past_the_console": NOT_FOUND_OR_NOT_YOURS,
    "make_a_token_that_outlives_the_server": ("HTTP 403",),
    "make_a_token_of_another_person": NOT_FOUND_OR_NOT_YOURS,
    "become_an_administrator": NOT_FOUND_OR_NOT_YOURS,
    "join_a_group": NOT_FOUND_OR_NOT_YOURS,
    "change_the_proxys_routes": ("HTTP 403",),
    "shut_the_hub_down": ("HTTP 403",),
    "say_what_another_person_did": NOT_FOUND_OR_NOT_YOURS,
    "forge_a_cookie_of_the_hub": ("HTTP 403",),
    "guess_a_token_of_the_site": ("HTTP 401", "HTTP 403"),
    "use_the_server_api_as_another_project": ("it answers for this server's own project",),
    "change_the_site_with_the_servers_token": ("HTTP 404",),
}
EXPECTED = FILES | KERNEL | SHARES | NETWORK | TOKENS


@dataclass(frozen=True)
class Stage:
    """The attacker's server, and what it knows: more than it should."""

    attacker: Server
    facts: dict[str, str]


@pytest.fixture(scope="module")
def stage(site: FirstSite) -> Iterator[Stage]:
    made = site.run("project", "create", "victims", "--lab", "lab")
    assert made.status == 0, made.text
    ana, bea = Person(site, "hostile-ana"), Person(site, "hostile-bea", "--project", "victims")
    with contextlib.ExitStack() as stack:
        attacker = stack.enter_context(ana.working(ana.own_project(), size="m"))
        victim = stack.enter_context(bea.working("victims", size="s"))
        stack.enter_context(site.engine.enter())
        with socket.create_server(("0.0.0.0", 0)) as service:
            threading.Thread(target=take_calls, args=(service,), daemon=True).start()
            yield Stage(attacker, facts_of(site, attacker, victim, service.getsockname()[1]))
            service.shutdown(socket.SHUT_RDWR)


def take_calls(service: socket.socket) -> None:
    while True:
        try:
            caller, _ = service.accept()
        except OSError:
            return  # the test is over
        caller.close()


def facts_of(site: FirstSite, attacker: Server, victim: Server, service: int) -> dict[str, str]:
    installed, ports = attacker.installation.facts, Ports.from_base(site.port)
    states = services_for(installed.site_id, attacker.installation.places.site).status()
    (hub_pid,) = (state.pid for state in states if state.name == "hub")
    limits = attacker.container.attrs["HostConfig"]
    facts = {
        "person": attacker.name,
        "peer": victim.name,
        "peer_project": victim.project,
        "peer_address": victim.address,
        "data": site.data,
        "engine_socket": site.engine.host.removeprefix("unix://"),
        "gateway": installed.gateway,
        "hub": f"http://{installed.gateway}:{ports.hub}/hub/api",
        "server_api": f"http://{installed.gateway}:{ports.server_api}{API_PATH}",
        "proxy_api": ports.proxy_api,
        "console": ports.console,
        "service": service,
        "hub_pid": hub_pid,
        "other_class": class_network(IPv4Network(installed.subnet), "none")[5],
        "pids": limits["PidsLimit"],
        "memory_bytes": limits["Memory"],
        "shm_bytes": limits["ShmSize"],
    }
    return {name: str(value) for name, value in facts.items()}


def test_the_list_is_whole() -> None:
    from tests.e2e import attempts_network

    assert attempts_network.ATTEMPTS is ATTEMPTS
    assert set(ATTEMPTS) == set(EXPECTED)
    assert len(EXPECTED) >= 30


@pytest.mark.parametrize("name", EXPECTED)
def test_hostile(stage: Stage, name: str) -> None:
    answer = stage.attacker.attempt(name, stage.facts)
    assert answer.get("refused") in EXPECTED[name], answer


def test_after_all_that_both_servers_run_and_the_site_is_whole(site: FirstSite, stage: Stage) -> None:
    stage.attacker.container.reload()
    assert stage.attacker.container.status == "running"
    assert stage.attacker.run("true") == (0, "")
    assert stage.attacker.reaches(stage.facts["gateway"], Ports.from_base(site.port).hub)[0] == "answers"
    said = site.run("status")
    assert said.status == 0, said.text


STOLEN = (
    ("GET", "hub/api/users"),
    ("GET", "hub/api/groups"),
    ("POST", "hub/api/users/{person}/tokens"),
    ("DELETE", "hub/api/users/{peer}/servers/{peer_project}"),
    ("GET", "user/{peer}/{peer_project}/api/contents"),
    ("GET", "services/bancada/"),
    ("GET", "services/bancada/api/projects/{project}/server"),
    ("POST", "services/bancada/api/projects/{project}/stop"),
    ("POST", "services/bancada/api/projects/{peer_project}/start"),
    ("GET", "services/bancada/api/audit"),
)


@pytest.mark.parametrize(("method", "path"), STOLEN)
def test_a_servers_token_stolen_and_used_elsewhere_opens_nothing(
    site: FirstSite, stage: Stage, method: str, path: str
) -> None:
    """In a browser, or by a program, on another machine: what it is good for is its own server."""
    token = stage.attacker.python("import os; print(os.environ['JUPYTERHUB_API_TOKEN'])")
    url = site.url + path.format(**stage.facts, project=stage.attacker.project)
    asked = {"headers": {"Authorization": f"token {token}"}, "allow_redirects": False, "timeout": 30}
    with site.engine.enter():
        answer = requests.request(method, url, **asked)
    assert answer.status_code in {302, 401, 403, 404}, answer.text
    assert answer.status_code != 302 or "/hub/" in answer.headers["Location"]
    assert stage.attacker.run("true") == (0, "")
