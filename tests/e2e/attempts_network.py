"""What a hostile notebook tries by network, and with the tokens and cookies that it finds; continues attempts.py."""

import errno
import fcntl
import json
import os
import socket
import struct
import sys
import urllib.error
import urllib.request

from tests.e2e.attempts import ATTEMPTS, Facts, Refused, ask, attempt, connect

CONTRACT = {"X-Bancada-Contract": "1"}
SIOCSIFADDR, IP_FREEBIND, IP_TRANSPARENT = 0x8916, 15, 19


@attempt
def reach_another_server(facts: Facts) -> str:
    return connect(facts["peer_address"], 8888)


@attempt
def reach_the_proxys_api(facts: Facts) -> str:
    return connect(facts["gateway"], facts["proxy_api"])


@attempt
def reach_the_consoles_pages_past_the_proxy(facts: Facts) -> str:
    return connect(facts["gateway"], facts["console"])


@attempt
def reach_a_service_of_the_machine(facts: Facts) -> str:
    return connect(facts["gateway"], facts["service"])


@attempt
def reach_the_metadata_address(_facts: Facts) -> str:
    return connect("169.254.169.254", 80)


@attempt
def send_raw_packets(_facts: Facts) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP):
        return "a raw socket"


@attempt
def listen_to_the_wire(_facts: Facts) -> str:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)):
        return "a packet socket"


@attempt
def take_another_address(facts: Facts) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as card:
        address = struct.pack("16sH2x4s8x", b"eth0", socket.AF_INET, socket.inet_aton(facts["other_class"]))
        fcntl.ioctl(card, SIOCSIFADDR, address)
    return f"the address {facts['other_class']}"


@attempt
def send_from_another_address(facts: Facts) -> str:
    """IP_FREEBIND lets anybody bind an address that is not theirs; to send from it is another matter."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        caller.bind((facts["other_class"], 0))
        caller.sendto(b"evil", (facts["gateway"], 53))
    return f"a packet from {facts['other_class']}"


@attempt
def pretend_to_be_a_router(_facts: Facts) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as caller:
        caller.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
    return "IP_TRANSPARENT"


# With the server's own token


@attempt
def list_people(facts: Facts) -> str:
    return ask(facts, "GET", "/users")


@attempt
def read_another_person(facts: Facts) -> str:
    return ask(facts, "GET", f"/users/{facts['peer']}")


@attempt
def start_another_persons_server(facts: Facts) -> str:
    return ask(facts, "POST", f"/users/{facts['peer']}/servers/{facts['peer_project']}", {})


@attempt
def stop_another_persons_server(facts: Facts) -> str:
    return ask(facts, "DELETE", f"/users/{facts['peer']}/servers/{facts['peer_project']}")


@attempt
def start_a_server_past_the_console(facts: Facts) -> str:
    return ask(facts, "POST", f"/users/{facts['person']}/servers/x-00000000", {"image": "evil"})


@attempt
def make_a_token_that_outlives_the_server(facts: Facts) -> str:
    return ask(facts, "POST", f"/users/{facts['person']}/tokens", {"note": "evil"})


@attempt
def make_a_token_of_another_person(facts: Facts) -> str:
    return ask(facts, "POST", f"/users/{facts['peer']}/tokens", {})


@attempt
def become_an_administrator(facts: Facts) -> str:
    return ask(facts, "PATCH", f"/users/{facts['person']}", {"admin": True})


@attempt
def join_a_group(facts: Facts) -> str:
    return ask(facts, "POST", f"/groups/{facts['peer_project']}/users", {"users": [facts["person"]]})


@attempt
def change_the_proxys_routes(facts: Facts) -> str:
    return ask(facts, "POST", "/proxy")


@attempt
def shut_the_hub_down(facts: Facts) -> str:
    return ask(facts, "POST", "/shutdown", {"servers": True})


@attempt
def say_what_another_person_did(facts: Facts) -> str:
    activity = {"last_activity": "2030-01-01T00:00:00Z"}
    return ask(facts, "POST", f"/users/{facts['peer']}/activity", activity)


@attempt
def forge_a_cookie_of_the_hub(facts: Facts) -> str:
    forged = '"2|1:0|10:1700000000|19:jupyterhub-hub-login|44:ZXZpbA==|' + "0" * 64 + '"'
    return without_token(f"{facts['hub']}/user", Cookie=f"jupyterhub-hub-login={forged}; jupyterhub-session-id=1")


@attempt
def guess_a_token_of_the_site(facts: Facts) -> str:
    return without_token(facts["server_api"] + "/project", Authorization="token " + "0" * 64, **CONTRACT)


@attempt
def use_the_server_api_as_another_project(facts: Facts) -> str:
    """The token alone says which project asks; whatever else says it is not read."""
    url = f"{facts['server_api']}/project?project={facts['peer_project']}&person={facts['peer']}"
    token = {"Authorization": f"token {os.environ['JUPYTERHUB_API_TOKEN']}", **CONTRACT}
    named = {"X-Forwarded-User": facts["peer"], "X-Bancada-Project": facts["peer_project"]}
    with urllib.request.urlopen(urllib.request.Request(url, None, token | named), timeout=20) as answer:
        said = answer.read().decode()
    if facts["peer_project"] not in said:
        raise Refused("it answers for this server's own project")
    return said


@attempt
def change_the_site_with_the_servers_token(facts: Facts) -> str:
    """The console's pages are not on the server API's port, and its REST takes no server's token."""
    token = f"token {os.environ['JUPYTERHUB_API_TOKEN']}"
    base = facts["server_api"].removesuffix("/api/v1")
    path = f"/services/bancada/api/projects/{facts['peer_project']}/start"
    return without_token(base + path, body=b"{}", Authorization=token, **CONTRACT)


def without_token(url: str, body: bytes | None = None, **headers: str) -> str:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=20) as answer:
            return f"{answer.status}: {answer.read(200)!r}"
    except urllib.error.HTTPError as error:
        raise Refused(f"HTTP {error.code}") from error


def main(name: str, facts: Facts) -> dict[str, str]:
    """Try one thing."""
    try:
        return {"gained": ATTEMPTS[name](facts)}
    except OSError as error:
        return {"refused": errno.errorcode.get(error.errno or 0, str(error))}
    except Refused as error:
        return {"refused": str(error)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))))
