"""Every address and verb of the console asks who comes, but for the few that are open on purpose."""

import pytest
import requests

from bancada_hub.console.table import ROUTES
from tests.hub.console.running import Browser, RunningSite, hidden

OPEN = {"/services/bancada/api/preparation", "/services/bancada/oauth_callback"}
ADDRESSES = [route.address(**dict.fromkeys(route.names, "optics")) for route in ROUTES]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("verb", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_strangers_stay_outside(running: RunningSite, address: str, verb: str) -> None:
    headers = {"Accept": "application/json"}
    reply = requests.request(verb, running.url + address, headers=headers, timeout=30, allow_redirects=False)
    if address in OPEN:
        assert reply.status_code in {200, 405, 400, 409}
    else:
        assert reply.status_code in {401, 403, 405}, (verb, address, reply.status_code)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_browser_is_sent_to_sign_in(running: RunningSite, address: str) -> None:
    headers = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
    reply = requests.get(running.url + address, headers=headers, timeout=30, allow_redirects=False)
    if reply.status_code == 302:
        assert reply.headers["Location"].startswith("/hub/api/oauth2/authorize?client_id=service-bancada")
    else:
        assert address in OPEN or "/api/" in address or address.endswith("/live")
        assert "optics" not in reply.text


def test_an_unknown_token_opens_nothing(running: RunningSite) -> None:
    headers = {"Authorization": "token " + "0" * 64}
    reply = requests.get(running.url + "/services/bancada/api/projects", headers=headers, timeout=30)
    assert reply.status_code == 401


def test_a_token_of_few_scopes_may_look_and_do_nothing(ana: Browser) -> None:
    xsrf = hidden(ana.get("/hub/token").text, "data-xsrf")
    scopes = ["access:services!service=bancada", "users:activity!user"]
    made = ana.post("/hub/api/users/ana/tokens", json={"scopes": scopes}, headers={"X-XSRFToken": xsrf})
    headers = {"Authorization": f"token {made.json()['token']}"}
    api = ana.site.url + "/services/bancada/api/projects"
    assert requests.get(api, headers=headers, timeout=30).status_code == 200
    for verb, path in (("POST", "start"), ("DELETE", "server"), ("POST", "stop"), ("POST", "reset")):
        reply = requests.request(verb, f"{api}/optics/{path}", headers=headers, timeout=30)
        assert reply.status_code == 403
        assert reply.json()["message"] == "This token may look, but not change anything."
