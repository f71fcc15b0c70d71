import importlib.metadata
from pathlib import Path

import pytest
from docker.types import Mount

from bancada_images import bytecode
from bancada_images.build import build_image
from bancada_images.layout import verify_layout
from bancada_images.lock import read_lock
from bancada_images.server_env import ensure_server_environment
from bancada_images.spec import catalog_folder, read_spec, server_folder

from .conftest import quiet

PERSON = "2000001:2000001"


@pytest.fixture(scope="module")
def parent(run_directory) -> Path:
    return run_directory / "lowers"


@pytest.fixture(scope="module")
def server(engine_client, base, bancada_wheel, internet, uv, parent):
    return ensure(engine_client, base, bancada_wheel, internet, uv, parent)


def ensure(client, base, wheel, sources, uv, parent, say=quiet):
    return ensure_server_environment(
        client,
        base,
        server_folder(),
        wheel,
        sources,
        uv=uv,
        target_parent=parent,
        labels={},
        say=say,
        cancelled=lambda: False,
    )


def in_a_server(client, base, server, *command) -> str:
    mounts = [Mount("/opt/bancada", str(server.path), type="bind", read_only=True)]
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp"}
    options = {"mounts": mounts, "user": PERSON, "network_mode": "none", "environment": environment, "remove": True}
    return client.containers.run(base.id, list(command), **options).decode().strip()


def test_the_server_environment_serves_lab_with_the_hubs_jupyterhub(engine_client, base, server):
    code = (
        "import importlib.metadata as m, jupyterlab, jupyterhub, jupyter_server, nbval, bancada, sys; "
        "print(m.version('jupyterhub'), m.version('jupyterlab'), sys.prefix)"
    )
    hub, lab, prefix = in_a_server(engine_client, base, server, "/opt/bancada/bin/python", "-I", "-c", code).split()
    assert hub == importlib.metadata.version("jupyterhub")
    assert lab.startswith("4.6.")
    assert prefix == "/opt/bancada"


def test_all_its_modules_have_bytecode(engine_client, base, server):
    source = Path(bytecode.__file__).read_text(encoding="utf-8")
    said = in_a_server(engine_client, base, server, "/opt/bancada/bin/python", "-I", "-c", source, "/opt/bancada/lib")
    assert '"missing": []' in said


def test_it_is_roots_alone_and_tells_no_build_place(server):
    assert server.path.name.startswith("server-")
    assert verify_layout(server.path) == []
    for path in server.path.rglob("*"):
        status = path.lstat()
        assert (status.st_uid, status.st_gid) == (0, 0), path
        assert path.is_symlink() or not status.st_mode & 0o022, path
    texts = [*server.path.glob("bin/*"), *server.path.rglob("direct_url.json"), *server.path.rglob("RECORD")]
    assert [
        path for path in texts if path.is_file() and not path.is_symlink() and b"bancada-build" in path.read_bytes()
    ] == []


def test_it_is_made_once(engine_client, base, bancada_wheel, internet, uv, parent, server):
    said = []
    say = lambda text, done=None: said.append(text)  # noqa: E731 - two lines would say no more
    assert ensure(engine_client, base, bancada_wheel, internet, uv, parent, say) == server
    assert said == ["Server environment: already there"]


def test_the_image_minimal_builds_and_its_tools_work(engine_client, base, bancada_wheel, internet, uv):
    folder = catalog_folder() / "minimal"
    image = build_image(
        engine_client,
        read_spec(folder),
        read_lock(folder),
        base,
        bancada_wheel,
        internet,
        uv=uv,
        labels={},
        say=quiet,
        cancelled=lambda: False,
    )
    script = "/opt/env/bin/python -m pip --version && /opt/env/bin/python -c 'import bancada, ipykernel, ipywidgets'"
    said = engine_client.containers.run(
        image.id, ["sh", "-c", script], remove=True, user=PERSON, network_mode="none", environment={"HOME": "/tmp"}
    )
    assert b"/opt/env/lib/python3.11/site-packages/pip" in said
