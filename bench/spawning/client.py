"""A person at a JupyterHub, by its REST API: ours and a stock one alike."""

import time
from dataclasses import dataclass

import requests

POLL_S = 0.02
REQUEST_WITHIN_S = 180.0


class BenchError(Exception):
    """The bench could not measure; the message says what stood in the way."""


@dataclass(frozen=True)
class Signed:
    """A person who is signed in.

    Args:
        hub: The address of the proxy, without a slash at its end.
        name: The account.
        token: A token of theirs.
    """

    hub: str
    name: str
    token: str

    def start(self, server: str, options: dict[str, str] | None = None) -> float:
        """Start a server and return the seconds from POST until the hub says that it is ready.

        Args:
            server: Its name; empty for the default server.
            options: What the person chose.

        Raises:
            BenchError: It did not start.
        """
        begun = time.monotonic()
        answer = self._ask("POST", self._server(server), {"user_options": options or {}})
        while answer.status_code == 202:  # the hub answers after ten seconds, ready or not
            state = self._state(server)
            if state.get("ready"):
                break
            if not state.get("pending"):
                raise BenchError(f"{self.name} {server}: the start failed; its reason is in the hub's log.")
            time.sleep(POLL_S)
        return time.monotonic() - begun

    def stop(self, server: str) -> None:
        """Stop a server and wait until it is gone."""
        self._ask("DELETE", self._server(server))
        while self._state(server).get("pending"):
            time.sleep(POLL_S)

    def _server(self, server: str) -> str:
        return f"/users/{self.name}/servers/{server}" if server else f"/users/{self.name}/server"

    def _state(self, server: str) -> dict[str, object]:
        servers: dict[str, dict[str, object]] = self._ask("GET", f"/users/{self.name}").json().get("servers") or {}
        return servers.get(server) or {}

    def _ask(self, method: str, path: str, body: dict[str, object] | None = None) -> requests.Response:
        answer = requests.request(
            method,
            f"{self.hub}/hub/api{path}",
            headers={"Authorization": f"token {self.token}"},
            json=body,
            timeout=REQUEST_WITHIN_S,
        )
        if not answer.ok:
            raise BenchError(f"{method} {path} at {self.hub}: {answer.status_code} {answer.text[:300]}")
        return answer


def sign_in(hub: str, name: str, password: str) -> Signed:
    """Sign in as a person does, and make a token for what follows.

    Args:
        hub: The address of the proxy, without a slash at its end.
        name: The account.
        password: Its password.

    Raises:
        BenchError: The hub refused.
    """
    browser = requests.Session()
    browser.get(f"{hub}/hub/login", timeout=REQUEST_WITHIN_S)
    form = {"username": name, "password": password, "_xsrf": _xsrf(browser)}
    answer = browser.post(f"{hub}/hub/login", data=form, allow_redirects=False, timeout=REQUEST_WITHIN_S)
    if answer.status_code != 302:
        raise BenchError(f"{name} could not sign in at {hub}: {answer.status_code}")
    browser.get(f"{hub}/hub/token", allow_redirects=False, timeout=REQUEST_WITHIN_S)  # a new cookie against forgery
    made = browser.post(
        f"{hub}/hub/api/users/{name}/tokens", headers={"X-XSRFToken": _xsrf(browser)}, json={}, timeout=REQUEST_WITHIN_S
    )
    if not made.ok:
        raise BenchError(f"{name} got no token at {hub}: {made.status_code} {made.text[:300]}")
    return Signed(hub, name, str(made.json()["token"]))


def _xsrf(browser: requests.Session) -> str:
    return next((cookie.value or "" for cookie in browser.cookies if cookie.name == "_xsrf"), "")
