"""An account that is switched off or gets another password is out everywhere: sessions, tokens, console, hub."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from bancada_hub.people.accounts import enable_account, reset_password
from bancada_hub.roles import Actor
from bancada_hub.secrets import secret
from bancada_hub.store import people
from tests.conftest import find_free_ports
from tests.hub.console import test_server_api
from tests.hub.console.running import PASSWORD, Browser, RunningSite, disable, make_site, wait_until
from tests.hub.people.test_at_the_hub import token_of

NEW = "a-new-password-of-theirs"
ROOT = Actor.command_line()


@pytest.fixture(scope="module")
def site(run_directory: Path) -> Iterator[RunningSite]:
    data = run_directory / "sessions"
    made = make_site(data, find_free_ports(5))
    try:
        for name in ("proxy", "hub", "console"):
            made.start(name)
        yield made
        for name in ("ana", "bia"):
            for server in hub_knows(made, name):
                address = f"{made.url}/hub/api/users/{name}/servers/{server}"
                assert requests.delete(address, headers=console(made), timeout=60).status_code in {202, 204}
    finally:
        made.end_all()
        shutil.rmtree(data, ignore_errors=True)


def in_with(site: RunningSite, name: str, password: str = PASSWORD) -> Browser:
    browser = Browser(site)
    assert browser.sign_in(name, password).status_code == 200
    assert is_in(browser)
    return browser


def is_in(browser: Browser) -> bool:
    page = browser.get("/services/bancada/profile")
    return page.status_code == 200 and "/hub/login" not in page.url


def statuses(site: RunningSite, token: dict[str, str]) -> list[int]:
    """Return what a token is answered by the hub and by the console."""
    pages = ("/hub/api/user", "/services/bancada/api/profile")
    return [requests.get(site.url + page, headers=token, timeout=30).status_code for page in pages]


def console(site: RunningSite) -> dict[str, str]:
    """Return the header with which the console asks the hub."""
    return {"Authorization": f"token {secret(site.installation.places.secrets, 'console-token')}"}


def hub_knows(site: RunningSite, name: str) -> list[str]:
    """Return the names of a person's servers that are ready."""
    model = requests.get(f"{site.url}/hub/api/users/{name}", headers=console(site), timeout=30).json()
    return [server for server, state in model["servers"].items() if state["ready"]]


def test_another_password_ends_all_sessions_and_tokens_and_no_server(site: RunningSite) -> None:
    first, second = in_with(site, "ana"), in_with(site, "ana")
    token = token_of(first, "ana")
    assert statuses(site, token) == [200, 200]
    started = requests.post(f"{site.url}/hub/api/users/ana/servers/optics", headers=token, timeout=60)
    assert started.status_code in {201, 202}, started.text
    wait_until(lambda: hub_knows(site, "ana") == ["optics"], "the server of optics runs")
    at_hub = second.get("/hub/token", allow_redirects=False)
    assert at_hub.status_code == 200
    reset_password(site.store, ROOT, "ana", NEW)
    assert not is_in(first), "the console asks for the password at the very next request"
    assert second.get("/hub/token", allow_redirects=False).status_code == 302, "so does the hub"
    assert not is_in(second)
    assert statuses(site, token) == [403, 401]
    assert hub_knows(site, "ana") == ["optics"]
    again = in_with(site, "ana", NEW)
    assert is_in(again), "the new session stays"
    assert again.get("/hub/token", allow_redirects=False).status_code == 200


def test_the_servers_own_token_goes_on(site: RunningSite) -> None:
    """A notebook that runs must not lose its site: its server still reports, with the token that it was given."""
    browser = in_with(site, "bia")
    headers = token_of(browser, "bia")
    started = requests.post(f"{site.url}/hub/api/users/bia/servers/optics", headers=headers, timeout=60)
    assert started.status_code in {201, 202}, started.text
    wait_until(lambda: hub_knows(site, "bia") == ["optics"], "the server of optics runs")
    own = {"Authorization": f"token {test_server_api.token_of(site, 'bia', 'optics')}"}
    reset_password(site.store, ROOT, "bia", NEW)
    assert not is_in(browser)
    user = requests.get(f"{site.url}/hub/api/user", headers=own, timeout=30)
    assert (user.status_code, user.json().get("name")) == (200, "bia")
    forged = token_of(in_with(site, "bia", NEW), "bia", note="Server at /user/bia/optics/")
    reset_password(site.store, ROOT, "bia", PASSWORD)
    assert requests.get(f"{site.url}/hub/api/user", headers=forged, timeout=30).status_code == 403, "by its number"
    assert requests.get(f"{site.url}/hub/api/user", headers=own, timeout=30).status_code == 200


def test_whoever_the_hub_does_not_meet_is_signed_out_on_its_clock(site: RunningSite) -> None:
    in_with(site, "leo")
    reset_password(site.store, ROOT, "leo", NEW)

    def done() -> bool:
        with site.store.read() as session:
            person = people.find_person(session, "leo")
            assert person is not None
            return not person.sign_out_due

    wait_until(done, "the hub has ended leo's sessions", 30)


def test_switched_off_and_on_again_is_still_signed_out(site: RunningSite) -> None:
    browser = in_with(site, "rui")
    token = token_of(browser, "rui")
    disable(site.store, "rui")
    assert not is_in(browser)
    assert statuses(site, token) == [403, 401]
    enable_account(site.store, ROOT, "rui")
    assert not is_in(browser)
    assert statuses(site, token) == [403, 401]
    in_with(site, "rui")


def test_another_password_of_ones_own_ends_the_other_sessions_too(site: RunningSite) -> None:
    here, there = in_with(site, "iris"), in_with(site, "iris")
    said = here.api("POST", "profile/password", json={"old": PASSWORD, "new": NEW})
    assert "signed out everywhere" in said.json()["message"]
    assert not is_in(here)
    assert not is_in(there)
    in_with(site, "iris", NEW)
