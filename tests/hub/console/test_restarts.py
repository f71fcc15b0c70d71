"""Hub and console die and come back: pages say so in words, and nothing that runs is lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import requests

from tests.hub.console.running import Browser, RunningSite, wait_until


def test_while_the_hub_is_away_pages_say_so_and_recover(running: RunningSite) -> None:
    ana, late = Browser(running), Browser(running)
    ana.sign_in("ana")
    assert ana.api("POST", "projects/optics/start", json={}).status_code == 202
    ready = lambda: ana.api("GET", "projects/optics/server").json().get("state") == "running"  # noqa: E731
    wait_until(ready, "optics runs")
    running.end("hub", signal.SIGKILL)
    try:
        page = ana.get("/services/bancada/")
        assert page.status_code == 200
        assert page.text.count("Unknown: the hub is restarting") == 4
        reply = ana.api("POST", "projects/slow/start", json={})
        assert (reply.status_code, reply.json()["message"]) == (503, "The hub is restarting. What is running goes on.")
        assert ana.get("/user/ana/optics/").text == "hello from /user/ana/optics/"
        stranger = late.get("/services/bancada/", allow_redirects=False)
        assert stranger.status_code == 302, "signing in is asked for; the hub's answer comes when it is back"
        token = requests.get(
            running.url + "/services/bancada/",
            headers={"Authorization": "token 0123456789abcdef0123456789abcdef", "Accept": "text/html"},
            timeout=30,
        )
        assert token.status_code == 503
        assert "<h1>The hub is restarting</h1>" in token.text
        assert 'http-equiv="refresh" content="5"' in token.text
        assert "Traceback" not in token.text
    finally:
        running.start("hub")
    wait_until(ready, "optics is found again")
    assert late.sign_in("ana").status_code == 200
    ana.api("DELETE", "projects/optics/server")


def test_a_killed_proxy_has_its_routes_back_within_ten_seconds(running: RunningSite) -> None:
    """Measured from its death on, its own start included: the hub puts them back by itself."""
    ana = Browser(running)
    ana.sign_in("ana")
    assert ana.api("POST", "projects/optics/start", json={}).status_code == 202
    wait_until(lambda: ana.api("GET", "projects/optics/server").json().get("state") == "running", "optics runs")
    died = time.monotonic()
    running.end("proxy", signal.SIGKILL)
    running.start("proxy")

    def back() -> bool:
        page = ana.get("/services/bancada/", allow_redirects=False)
        server = requests.get(running.url + "/user/ana/optics/", timeout=5, allow_redirects=False)
        return page.status_code == 200 and server.text == "hello from /user/ana/optics/"

    wait_until(back, "both routes are back", 10 - (time.monotonic() - died))
    ana.api("DELETE", "projects/optics/server")


def test_a_restarted_console_keeps_everybody_signed_in(running: RunningSite) -> None:
    ana = Browser(running)
    ana.sign_in("ana")
    running.end("console", signal.SIGKILL)
    try:
        away = requests.get(running.url + "/services/bancada/", timeout=30)
        assert away.status_code == 503
        assert "<h1>Not answering just now</h1>" in away.text
        assert "--accent:" in away.text, "the hub's page about it needs nothing of the console"
        assert Browser(running).get("/hub/login").status_code == 200
    finally:
        running.start("console")
    page = ana.get("/services/bancada/")
    assert page.url == running.url + "/services/bancada/"
    assert "Optics" in page.text


def test_a_told_console_ends_quietly(running: RunningSite) -> None:
    running.end("console", signal.SIGTERM)
    assert "Traceback" not in running.log("console")
    running.start("console")


def test_a_console_without_a_site_says_what_to_do(data: Path) -> None:
    variables = {"BANCADA_DATA": str(data), "JUPYTERHUB_API_URL": "http://127.0.0.1:9/hub/api"}
    ended = _console(variables)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"There is no site at {data}: bancada.toml is missing.\n"
        "Run ./bancada up, or name another directory with --data DIR.\n"
    )


def test_a_console_started_by_hand_says_what_it_lacks() -> None:
    ended = _console({})
    assert ended.returncode == 1
    assert ended.stderr.startswith("The variable BANCADA_DATA is not set.\nStart the console with ./bancada up")


def test_a_taken_port_is_named(running: RunningSite) -> None:
    variables = {
        "BANCADA_DATA": str(running.installation.places.data),
        "JUPYTERHUB_API_URL": "http://127.0.0.1:9/hub/api",
    }
    ended = _console(variables)
    port = running.installation.site.port + 2
    assert ended.returncode == 1
    assert f"The console cannot serve on port {port} of 127.0.0.1: Address already in use." in ended.stderr
    assert "Traceback" not in ended.stderr


def _console(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "BANCADA_DATA"}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path)} | variables
    command = [sys.executable, "-m", "bancada_hub.console"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
