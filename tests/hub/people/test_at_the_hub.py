"""Accounts at a real hub: a locked one is told so, and a disabled one starts nothing."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from bancada_hub.people.accounts import sign_in
from bancada_hub.people.sign_in import WRONG_IN_A_ROW
from bancada_hub.secrets import secret
from tests.conftest import find_free_ports
from tests.hub.console.running import PASSWORD, Browser, RunningSite, disable, make_site, wait_until


@pytest.fixture(scope="module")
def site(run_directory: Path) -> Iterator[RunningSite]:
    data = run_directory / "people"
    made = make_site(data, find_free_ports(5))
    try:
        for name in ("proxy", "hub", "console"):
            made.start(name)
        yield made
    finally:
        made.end_all()
        shutil.rmtree(data, ignore_errors=True)


def token_of(browser: Browser, name: str, note: str = "x") -> dict[str, str]:
    """Make a token for a person who is signed in; returns the header that carries it."""
    xsrf = browser.get("/hub/token").text.split('data-xsrf="', 1)[1].split('"', 1)[0]
    headers = {"X-XSRFToken": xsrf, "Referer": browser.site.url}
    made = browser.post(f"/hub/api/users/{name}/tokens", json={"note": note, "expires_in": 600}, headers=headers)
    assert made.status_code == 201, made.text
    return {"Authorization": f"token {made.json()['token']}"}


def test_a_locked_account_is_told_in_the_readers_language(site: RunningSite) -> None:
    for _ in range(WRONG_IN_A_ROW):
        sign_in(site.store, "rui", "wrong", "192.0.2.1")
    for language, words in (("en", "for another 15 min"), ("pt-BR", "por mais 15 min")):
        browser = Browser(site)
        browser.headers["Accept-Language"] = language
        page = browser.sign_in("rui", PASSWORD)
        assert page.status_code == 403
        assert words in page.text


@pytest.mark.parametrize("name", ["ANA", "Ana", "an\u00e1", "ana\u200b"])
def test_no_other_spelling_signs_in(site: RunningSite, name: str) -> None:
    page = Browser(site).sign_in(name)
    assert page.status_code == 403
    assert "do not belong together" in page.text


def test_a_server_of_somebody_elses_is_not_there(site: RunningSite) -> None:
    """A running server sends a browser to the hub, which answers as for one that never was (issue 3)."""
    owner, stranger = Browser(site), Browser(site)
    assert owner.sign_in("ana").status_code == 200
    assert stranger.sign_in("bia").status_code == 200
    users = f"{site.url}/hub/api/users/ana"
    started = requests.post(f"{users}/servers/optics", headers=token_of(owner, "ana"), timeout=60)
    assert started.status_code in {201, 202}, started.text
    back = "/user/ana/optics/oauth_callback"
    asked = f"/hub/api/oauth2/authorize?client_id=jupyterhub-user-ana-optics&response_type=code&redirect_uri={back}"
    let_in = owner.get(asked, allow_redirects=False)
    pages = [stranger.get(address) for address in (asked, "/user/ana/nothing/lab", "/user/nobody/optics/lab")]
    console = {"Authorization": f"token {secret(site.installation.places.secrets, 'console-token')}"}
    assert requests.delete(f"{users}/servers/optics", headers=console, timeout=60).status_code in {202, 204}
    assert let_in.headers["Location"].startswith(f"{back}?code=")
    assert [page.status_code for page in pages] == [404, 404, 404]
    assert all("<h1>Nothing here</h1>" in page.text for page in pages), pages[0].text


def test_a_disabled_person_starts_nothing(site: RunningSite) -> None:
    browser = Browser(site)
    assert browser.sign_in("ana").status_code == 200
    headers, users = token_of(browser, "ana"), f"{site.url}/hub/api/users/ana"
    started = requests.post(f"{users}/servers/optics", headers=headers, timeout=60)
    assert started.status_code in {201, 202}, started.text
    console = {"Authorization": f"token {secret(site.installation.places.secrets, 'console-token')}"}

    def running() -> bool:
        servers = requests.get(users, headers=console, timeout=30).json()["servers"]
        return bool(servers.get("optics", {}).get("ready"))

    wait_until(running, "the server of optics runs")
    disable(site.store, "ana")
    for credentials in (headers, console):
        refused = requests.post(f"{users}/servers/broken", headers=credentials, timeout=60)
        assert refused.status_code == 403, refused.text
    page = Browser(site).sign_in("ana")
    assert "do not belong together" in page.text
    assert requests.delete(f"{users}/servers/optics", headers=console, timeout=60).status_code in {202, 204}
