"""The doors between a page and its server, on a real Jupyter server whose site does not answer."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest
from tornado.httpclient import HTTPClientError
from tornado.websocket import websocket_connect

from bancada.server.language import write_language
from tests.conftest import find_free_ports

TOKEN = "a-token-of-the-tests"
DEADLINE_S = 60.0


@dataclass(frozen=True)
class JupyterServer:
    port: int

    def request(self, method: str, path: str, *, token: str = "") -> tuple[int, bytes]:
        headers = {"Authorization": f"token {token}"} if token else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            return error.code, error.read()

    @property
    def last_activity(self) -> str:
        return json.loads(self.request("GET", "/api/status?no_track_activity=1", token=TOKEN)[1])["last_activity"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    folder, port = tmp_path_factory.mktemp("jupyter"), find_free_ports(2)
    command = [
        *(sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser", f"--port={port}"),
        f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={TOKEN}",
        "--ServerApp.allow_unauthenticated_access=False",
        '--ServerApp.jpserver_extensions={"bancada.server.extension": True}',
    ]
    variables = {
        "HOME": str(folder),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "BANCADA_SITE_API": f"http://127.0.0.1:{port + 1}/api/v1",  # nobody listens there
        "JUPYTERHUB_API_TOKEN": "nobodys",
        "BANCADA_PROJECT": "optics",
        "PYTHONPATH": ":".join(filter(None, sys.path)),
    }
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=os.environ | variables, stdout=output, stderr=output)
    found = JupyterServer(port)
    try:
        end = time.monotonic() + DEADLINE_S
        while not _answers(found):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        yield found
    finally:
        process.terminate()
        process.wait(timeout=20)


def _answers(server: JupyterServer) -> bool:
    try:
        return server.request("GET", "/api", token=TOKEN)[0] == 200
    except URLError:
        return False


@pytest.mark.parametrize(("method", "path"), [("GET", "/bancada/events"), ("POST", "/bancada/stop")])
def test_strangers_are_refused(server: JupyterServer, method: str, path: str) -> None:
    assert server.request(method, path)[0] == 403


async def test_strangers_get_no_connection(server: JupyterServer) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await websocket_connect(f"ws://127.0.0.1:{server.port}/bancada/events")
    assert caught.value.code == 403


async def test_a_page_is_told_the_state_and_is_nobodys_activity(server: JupyterServer) -> None:
    before = server.last_activity
    connection = await websocket_connect(f"ws://127.0.0.1:{server.port}/bancada/events?token={TOKEN}")
    text = await connection.read_message()
    assert isinstance(text, str)
    message = json.loads(text)
    assert (message["kind"], message["state"]["kind"]) == ("state", "work")
    assert message["state"]["site"] in {"unknown", "away"}
    await connection.write_message("what a page might send")
    connection.close()
    assert server.last_activity == before


def test_a_stop_that_cannot_be_passed_on_is_told(server: JupyterServer) -> None:
    status, body = server.request("POST", "/bancada/stop", token=TOKEN)
    assert status == 502
    assert json.loads(body)["message"] == "Bancada does not answer. Try again in a minute."


def test_jupyterlab_starts_in_the_language_of_the_pages(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    write_language({"BANCADA_LANGUAGE": "pt-BR", "JUPYTER_CONFIG_DIR": str(tmp_path / "config")})
    written = json.loads((tmp_path / "config" / "labconfig" / "default_setting_overrides.json").read_text())
    assert written == {"@jupyterlab/translation-extension:plugin": {"locale": "pt_BR"}}


@pytest.mark.parametrize("language", ["", "de", "../x"])
def test_another_language_is_left_to_jupyterlab(tmp_path: Path, language: str) -> None:
    write_language({"BANCADA_LANGUAGE": language, "JUPYTER_CONFIG_DIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
