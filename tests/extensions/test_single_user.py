"""What a server imports until it answers: nothing of a hub, and nothing that somebody may use later."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

NOT_AT_START = {
    *("IPython", "alembic", "anywidget", "debugpy", "ipykernel", "ipywidgets", "isoduration", "lark", "matplotlib"),
    *("nbconvert", "nbval", "notebook", "numpy", "pandas", "pytest", "rfc3987_syntax", "scipy", "sqlalchemy", "torch"),
}

SERVE = """
import json, sys
from pathlib import Path
from bancada.server import single_user
from bancada.server.configuration import EXTENSIONS, configuration
{before}
made = single_user.single_user_server()
made.serverapp_config = {{"jpserver_extensions": dict(EXTENSIONS)}}
server = made.initialize_server(argv=[], config=configuration(Path(sys.argv[1]), ""))
at_start = sorted(sys.modules)
import sqlalchemy, jupyterhub.orm, jupyterhub.handlers.pages, rfc3987_syntax
real = [jupyterhub.orm.User.__tablename__, jupyterhub.handlers.pages.HealthCheckHandler.__module__,
        sqlalchemy.__version__.split(".")[0]]
print(json.dumps({{"at_start": at_start, "real": real, "handlers": len(server.web_app.wildcard_router.rules),
                  "extensions": sorted(server.extension_manager.extensions)}}))
"""


class Hub(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("X-JupyterHub-Version", "6.1.1")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hub/api"
    server.shutdown()
    thread.join()
    server.server_close()


def serve(hub: str, folder: Path, before: str = "") -> tuple[dict[str, list[str]], str]:
    """Start a server as far as its first request, in a process of its own."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "JUPYTERHUB_API_TOKEN": "a-token",
        "JUPYTERHUB_API_URL": hub,
        "JUPYTERHUB_CLIENT_ID": "jupyterhub-user-ana",
        "JUPYTERHUB_OAUTH_ACCESS_SCOPES": '["access:servers!server=ana/main"]',
        "JUPYTERHUB_OAUTH_CALLBACK_URL": "/user/ana/main/oauth_callback",
        "JUPYTERHUB_SERVICE_PREFIX": "/user/ana/main/",
        "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1:0/user/ana/main/",
        "JUPYTERHUB_USER": "ana",
    }
    command = [sys.executable, "-c", SERVE.format(before=before), str(folder)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_a_start_imports_nothing_that_it_does_not_need(hub: str, tmp_path: Path) -> None:
    found, _ = serve(hub, tmp_path)
    packages = {name.partition(".")[0] for name in found["at_start"]}
    assert sorted(packages & NOT_AT_START) == []
    assert not [name for name in found["at_start"] if name.startswith(("jupyterhub.handlers", "jupyterhub.orm"))]
    assert {"bancada.server.extension", "jupyterlab", "jupyter_server_terminals"} <= set(found["extensions"])


def test_who_imports_such_a_module_later_gets_the_real_one(hub: str, tmp_path: Path) -> None:
    found, _ = serve(hub, tmp_path)
    assert found["real"] == ["users", "jupyterhub.handlers.pages", "2"]


def test_a_hub_that_needs_more_of_them_is_imported_whole(hub: str, tmp_path: Path) -> None:
    # As a JupyterHub would whose single-user server calls, at import, what a stand-in cannot do.
    found, log = serve(hub, tmp_path, before="single_user.HUBS_OWN += ('jupyterhub.utils', 'jupyterhub.metrics')")
    whole, _ = serve(hub, tmp_path)
    assert "importing all of it" in log
    assert found["handlers"] == whole["handlers"]
    assert "sqlalchemy" in {name.partition(".")[0] for name in found["at_start"]}
