"""What is somebody else's looks like what is not there: at every address, to whoever asks (issue 3)."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from bancada_hub.secrets import secret
from tests.conftest import find_free_ports
from tests.hub.console.running import Browser, RunningSite, make_site, wait_until
from tests.hub.people.test_at_the_hub import token_of

OAUTH = "response_type=code&redirect_uri=/user/ana/optics/oauth_callback"
HUB, CONSOLE = "/hub/api", "/services/bancada"

PAGES = {
    "a server": ("/user/{}/lab", ["ana/broken", "bia/optics"], ["ana/zzzz", "nobody/optics", "a%40b/x"]),
    "its REST": ("/user/{}/api/status", ["ana/broken"], ["ana/zzzz", "nobody/optics"]),
    "a server at the hub": ("/hub/user/{}/lab", ["ana/optics", "ana/broken"], ["ana/zzzz", "nobody/x", "a%40b/x"]),
    "somebody's own": ("/hub/user/{}/", ["ana", "bia"], ["nobody", "a%40b"]),
    "starting": ("/hub/spawn/{}", ["ana", "bia", "ana/optics"], ["nobody", "ana/zzzz", "nobody/x"]),
    "starting now": ("/hub/spawn-pending/{}", ["ana", "ana/optics"], ["nobody", "ana/zzzz", "nobody/x"]),
    "being let in": (
        f"{HUB}/oauth2/authorize?{OAUTH}&client_id=jupyterhub-user-{{}}",
        ["ana-optics", "ana-broken"],
        ["ana-zzzz", "nobody-optics"],
    ),
    "a lab's page": (CONSOLE + "/lab/{}", ["light"], ["zzzz"]),
}
REST = {
    "a person": (HUB + "/users/{}", ["ana", "bia"], ["nobody", "a%40b"]),
    "progress": (HUB + "/users/{}/progress", ["ana/servers/optics"], ["ana/servers/nothing", "nobody/servers/x"]),
    "tokens": (HUB + "/users/{}/tokens", ["ana"], ["nobody"]),
    "a token": (HUB + "/users/{}/tokens/a1", ["ana"], ["nobody"]),
    "what is shared with": (HUB + "/users/{}/shared", ["ana"], ["nobody"]),
    "shares": (HUB + "/shares/{}", ["ana/optics"], ["ana/zzzz", "nobody/x"]),
    "share codes": (HUB + "/share-codes/{}", ["ana/optics"], ["ana/zzzz", "nobody/x"]),
    "a group": (HUB + "/groups/{}", ["optics", "broken"], ["zzzz"]),
    "a service": (HUB + "/services/{}", ["bancada"], ["zzzz"]),
    "a project's server": (CONSOLE + "/api/projects/{}/server", ["optics"], ["zzzz", "a%40b"]),
    "a lab": (CONSOLE + "/api/labs/{}", ["light"], ["zzzz"]),
}
ACTS = {
    ("POST", HUB + "/users/{}/servers/x"): ("ana", "nobody"),
    ("DELETE", HUB + "/users/{}"): ("ana/servers/optics", "nobody/servers/optics"),
    ("POST", HUB + "/users/{}/server"): ("ana", "nobody"),
    ("POST", HUB + "/users/{}/activity"): ("ana", "nobody"),
    ("POST", HUB + "/users/{}/tokens"): ("ana", "nobody"),
    ("PATCH", HUB + "/users/{}"): ("ana", "nobody"),
    ("POST", HUB + "/shares/{}"): ("ana/optics", "nobody/optics"),
    ("POST", HUB + "/share-codes/{}"): ("ana/optics", "nobody/optics"),
    ("POST", HUB + "/groups/{}/users"): ("optics", "zzzz"),
    ("DELETE", HUB + "/groups/{}"): ("optics", "zzzz"),
    ("POST", CONSOLE + "/api/projects/{}/start"): ("optics", "zzzz"),
    ("POST", CONSOLE + "/api/projects/{}/members"): ("optics", "zzzz"),
    ("POST", CONSOLE + "/api/projects/{}/change"): ("optics", "zzzz"),
    ("DELETE", CONSOLE + "/api/projects/{}/server"): ("optics", "zzzz"),
}


@dataclass(frozen=True)
class Asking:
    """The site with ana's server of optics running, and how a stranger asks: signed in, by token, or as nobody."""

    site: RunningSite
    browser: Browser
    token: dict[str, str]

    def ask(self, how: str, address: str, method: str = "GET") -> requests.Response:
        html = {"Accept": "text/html"}
        with requests.Session() as session:
            headers = {"browser": html, "token": self.token, "nobody": html}[how]
            asking = self.browser if how == "browser" else session
            body = {} if method != "GET" else None
            url = self.site.url + address
            return asking.request(method, url, headers=headers, json=body, allow_redirects=False, timeout=30)


@pytest.fixture(scope="module")
def stranger(run_directory: Path) -> Iterator[Asking]:
    data = run_directory / "strangers"
    site = make_site(data, find_free_ports(5))
    console = {"Authorization": f"token {secret(site.installation.places.secrets, 'console-token')}"}
    try:
        for name in ("proxy", "hub", "console"):
            site.start(name)
        owner, browser = Browser(site), Browser(site)
        for each, name in ((owner, "ana"), (browser, "rui"), (Browser(site), "bia")):
            assert each.sign_in(name).status_code == 200
        users = f"{site.url}{HUB}/users/ana"
        for project in ("optics", "broken"):
            requests.post(f"{users}/servers/{project}", headers=token_of(owner, "ana"), timeout=60)

        def running() -> bool:
            servers = requests.get(users, headers=console, timeout=30).json()["servers"]
            return bool(servers.get("optics", {}).get("ready"))

        wait_until(running, "the server of optics runs")
        yield Asking(site, browser, token_of(browser, "rui"))
        assert running(), "and nobody stopped it"
        requests.delete(f"{users}/servers/optics", headers=console, timeout=60)
    finally:
        site.end_all()
        shutil.rmtree(data, ignore_errors=True)


def shape(reply: requests.Response, address: str) -> tuple[object, ...]:
    """Return all of an answer that may tell something, without the address that was asked for and what is random."""

    def plain(text: str) -> str:
        text = re.sub(r"(data-xsrf|data-keep|value)=\"[^\"]*\"|(state|code_challenge)=[^&]*", "", text)
        return text.replace(requests.utils.unquote(address), "ADDRESS")

    place = requests.utils.unquote(requests.utils.unquote(reply.headers.get("Location", "")))
    names = sorted({each.lower() for each in reply.headers} - {"set-cookie"})
    return reply.status_code, plain(place.removeprefix("/hub")), names, plain(reply.text)


@pytest.mark.parametrize("how", ["browser", "token", "nobody"])
@pytest.mark.parametrize("what", [*PAGES, *REST])
def test_what_is_theirs_and_what_is_not_there_are_one(stranger: Asking, what: str, how: str) -> None:
    """Also with a name that has to be encoded (C7, D8): it is nobody's."""
    address, theirs, nothing = (PAGES | REST)[what]
    asked = [address.format(name) for name in [*theirs, *nothing]]
    answers = {each: shape(stranger.ask(how, each), each) for each in asked}
    for each in asked[1:]:
        assert answers[each] == answers[asked[0]], each
    status, place, *_ = answers[asked[0]]
    if how == "nobody":
        assert status in {302, 403}
    elif address.startswith("/user/"):  # the proxy knows of no such server, whoever asks, and asks the hub
        assert (status, place) == (302, "ADDRESS")
    elif how == "browser" or what in REST:
        assert status == 404


@pytest.mark.parametrize(("method", "address"), ACTS)
def test_nor_can_anything_be_done_to_it(stranger: Asking, method: str, address: str) -> None:
    asked = [address.format(name) for name in ACTS[method, address]]
    answers = [shape(stranger.ask("token", each, method), each) for each in asked]
    assert answers[0] == answers[1]
    assert answers[0][0] == 404


@pytest.mark.parametrize("address", ["/hub/admin", "/user/ana/broken/lab", "/hub/spawn/ana", "/hub/user/ana/optics/"])
def test_the_page_is_ours(stranger: Asking, address: str) -> None:
    page = stranger.browser.get(address)
    assert page.status_code == 404
    assert "<h1>Nothing here</h1>" in page.text


@pytest.mark.parametrize("name", ["ANA", "an%61", "ana%40x.org", "%00", "ana%0d%0aX-Bad:1", "x" * 300])
def test_names_of_every_kind_are_nobodys(stranger: Asking, name: str) -> None:
    """C7, D13: what an address can hold, an account may not be called, or it is somebody else's."""
    for address in ("/user/{}/broken/lab", "/hub/user/{}/optics/lab", "/hub/spawn/{}", HUB + "/users/{}"):
        reply = stranger.browser.get(address.format(name))
        assert reply.status_code in {400, 404}, (address, reply.text[-300:])
        assert "X-Bad" not in reply.headers
        assert "Traceback" not in reply.text
