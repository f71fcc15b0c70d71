"""Finding, starting and trying a container engine: a real one, and sockets that only look like one."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bancada_hub.amounts import Bytes
from bancada_hub.errors import EngineError
from bancada_hub.host import connection, daemon, engine, probe
from bancada_hub.host.engine import EngineMissing, EngineSilent, find_engine

pytestmark = pytest.mark.engine


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[tuple[Path, socket.socket]]:
    """A socket that accepts connections and never answers."""
    path = tmp_path / "silent.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield path, listener


# What is there


def test_an_engine_that_answers_is_described(own_engine) -> None:
    found = find_engine()
    assert found.host == own_engine.host
    assert tuple(map(int, found.api_version.split("."))) >= (1, 41)
    assert found.version[0].isdigit()
    assert found.cgroup_version in {"1", "2"}
    assert found.root_dir == f"{own_engine.directory}/data"
    docker_client = engine.client(found, timeout_s=5)
    assert docker_client.ping()
    docker_client.close()


def test_no_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineMissing) as caught:
        find_engine()
    assert str(caught.value) == (
        f"No container engine at {tmp_path}/none.sock: there is no such socket.\n"
        "Start that engine, or unset DOCKER_HOST to use this machine's own."
    )


def test_socket_file_left_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{tmp_path}/dead.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/dead.sock")
    with pytest.raises(EngineMissing) as caught:
        find_engine()
    assert caught.value.what == (
        f"No container engine at {tmp_path}/dead.sock: the socket is left over: nothing listens on it."
    )


def test_present_but_not_answering(monkeypatch: pytest.MonkeyPatch, listening) -> None:
    path, _ = listening
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    start = time.monotonic()
    with pytest.raises(EngineSilent) as caught:
        find_engine(timeout_s=1)
    assert time.monotonic() - start < 5
    assert str(caught.value) == (
        f"A container engine is at {path}, but it did not answer within 1 s.\n"
        "Restart that engine, or unset DOCKER_HOST to use this machine's own."
    )


def test_a_stopped_engine_is_silent_not_missing(own_engine) -> None:
    process = psutil.Process(own_engine.pid())
    process.suspend()
    try:
        with pytest.raises(EngineSilent, match="did not answer within 1 s"):
            find_engine(timeout_s=1)
    finally:
        process.resume()
    assert find_engine().host == own_engine.host


def test_nothing_listens_on_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{port}")
    with pytest.raises(EngineMissing) as caught:
        find_engine(timeout_s=2)
    assert caught.value.what == f"No container engine at tcp://127.0.0.1:{port}: nothing listens there."


def test_socket_of_root_for_an_ordinary_user(monkeypatch: pytest.MonkeyPatch, listening) -> None:
    path, _ = listening
    path.chmod(0o600)
    for parent in list(path.parents)[:3]:
        parent.chmod(0o711)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    os.seteuid(65534)
    try:
        with pytest.raises(EngineError) as caught:
            find_engine(timeout_s=1)
    finally:
        os.seteuid(0)
    assert str(caught.value) == (
        f"This user may not use the container engine's socket {path}.\nRun it as root: sudo ./bancada …"
    )


def test_reaching_an_engine_by_its_kept_address(own_engine, tmp_path: Path) -> None:
    docker_client = engine.connect(own_engine.host)
    assert docker_client.ping()
    docker_client.close()
    with pytest.raises(EngineMissing, match="there is no such socket"):
        engine.connect(f"unix://{tmp_path}/none.sock")


# Making sure that there is one


def test_why_not_docker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert engine.why_not_docker() == ""
    os.seteuid(65534)
    try:
        assert engine.why_not_docker() == "the docker engine needs root, and this account is not root."
    finally:
        os.seteuid(0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setattr(daemon, "SYSTEM_PATH", str(tmp_path))
    assert engine.why_not_docker() == (
        "no container engine is here, and this system has no apt-get to install one with."
    )


def never(question: str) -> bool:
    raise AssertionError(question)


def test_an_engine_that_answers_is_used_without_a_question(own_engine, tmp_path: Path) -> None:
    found = engine.ensure_engine(agreed=False, ask=never, log=tmp_path / "log", say=never)
    assert found.host == own_engine.host
    assert not (tmp_path / "log").exists()


def test_a_chosen_engine_that_is_missing_is_not_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineMissing, match="there is no such socket"):
        engine.ensure_engine(agreed=True, ask=None, log=tmp_path / "log", say=never)


def test_a_silent_engine_of_our_own_names_its_log(monkeypatch: pytest.MonkeyPatch, listening, tmp_path: Path) -> None:
    path, _ = listening
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(connection, "DEFAULT_HOST", f"unix://{path}")
    monkeypatch.setattr(engine, "ANSWER_WITHIN_S", 1)
    log = tmp_path / "engine.log"
    log.write_text("started\n")
    with pytest.raises(EngineSilent) as caught:
        engine.ensure_engine(agreed=True, ask=None, log=log, say=never)
    assert caught.value.fix == (
        f"Read its log: {log}\nEnd it, then run the same command again: kill -9 $(cat /var/run/docker.pid)"
    )


def test_ordinary_user_is_told_of_the_trial_engine() -> None:
    os.seteuid(65534)
    try:
        with pytest.raises(EngineError) as caught:
            daemon.check_can_start()
    finally:
        os.seteuid(0)
    assert str(caught.value) == (
        "No container engine answers, and only root may install or start one.\n"
        "Run it as root: sudo ./bancada up\n"
        "Or try Bancada without containers: bancada up --engine process"
    )


def test_killed_engine_is_started_again_over_its_left_over_files(own_engine) -> None:
    own_engine.kill()
    assert own_engine.pidfile.exists()
    with pytest.raises(EngineMissing):
        find_engine(timeout_s=2)
    said: list[str] = []
    daemon.start_detached(own_engine.daemon(), own_engine.log, own_engine.answers, said.append)
    assert find_engine().host == own_engine.host
    docker_client = engine.client(find_engine())
    assert docker_client.info()["LiveRestoreEnabled"] is True
    docker_client.close()


def test_engine_that_cannot_start_is_tried_twice_and_its_log_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(daemon, "RETRY_AFTER_S", 0.3)
    log, said = tmp_path / "logs" / "engine.log", []
    failing = daemon.Daemon(
        command=("sh", "-c", "echo failed to start: no iptables; exit 1"), pidfile=tmp_path / "pid", settings=tmp_path
    )
    with pytest.raises(EngineError) as caught:
        daemon.start_detached(failing, log, lambda: False, said.append)
    assert said == ["The engine did not start; trying once more in 0 s"]
    assert caught.value.what == (
        f"The container engine was started twice and did not answer. Its log {log} ends with:\n"
        "failed to start: no iptables\nfailed to start: no iptables"
    )
    assert caught.value.fix.startswith("Mend that, then run the same command again.\n")


def test_engine_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(daemon, "RETRY_AFTER_S", 0.1)
    hanging = daemon.Daemon(
        command=("sh", "-c", f"echo $$ >>{tmp_path}/pids; exec sleep 77"),
        pidfile=tmp_path / "pid",
        settings=tmp_path,
        answers_within_s=0.5,
    )
    with pytest.raises(EngineError, match="was started twice and did not answer"):
        daemon.start_detached(hanging, tmp_path / "log", lambda: False, lambda text: None)
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.parametrize("content", ["999999999\n", "not a number", "0", str(os.getpid())])
def test_stale_pid_file_is_cleared(content: str, tmp_path: Path) -> None:
    pidfile = tmp_path / "docker.pid"
    pidfile.write_text(content)
    daemon.clear_stale_pidfile(pidfile)
    assert not pidfile.exists()


def test_pid_file_of_a_living_engine_stays(own_engine) -> None:
    daemon.clear_stale_pidfile(own_engine.pidfile)
    assert own_engine.pidfile.exists()


def test_live_restore_is_left_to_the_engines_own_settings(tmp_path: Path) -> None:
    settings = tmp_path / "daemon.json"
    assert daemon.live_restore(settings) == ("--live-restore",)
    settings.write_text(json.dumps({"live-restore": False}))
    assert daemon.live_restore(settings) == ()


# Trying it

NEEDS = [
    "engine-linux",
    "engine-api",
    "engine-rootful",
    "engine-seccomp",
    "engine-limits",
    "engine-space",
    "engine-kernel",
    "engine-files",
    "engine-overlay",
]


def leftovers(own_engine) -> list[object]:
    docker_client = engine.client(find_engine())
    try:
        return [
            *docker_client.containers.list(all=True),
            *docker_client.volumes.list(),
            *docker_client.images.list(),
        ]
    finally:
        docker_client.close()


def test_a_good_engine_passes_quickly_and_nothing_stays(own_engine) -> None:
    scratch = own_engine.directory / "scratch"
    start = time.monotonic()
    checks = probe.probe_engine(find_engine(), scratch)
    assert time.monotonic() - start < 5
    assert [check.name for check in checks] == NEEDS
    assert [check for check in checks if not check.ok] == []
    assert {check.name: check.detail for check in checks}["engine-overlay"] == (
        f"Overlays in {scratch} mount read-write."
    )
    assert not scratch.exists()
    assert leftovers(own_engine) == []


def test_an_engine_that_sees_other_files_is_found_out(own_engine) -> None:
    checks = {check.name: check for check in probe.probe_engine(find_engine(), own_engine.hidden)}
    assert not checks["engine-files"].ok
    assert checks["engine-files"].detail.startswith(f"Containers do not see the files in {own_engine.hidden}.")
    assert checks["engine-files"].fix == (
        "Unset DOCKER_HOST to use this machine's own engine, or: bancada up --engine process"
    )
    assert not checks["engine-overlay"].ok
    assert list(own_engine.hidden.iterdir()) == []
    assert leftovers(own_engine) == []


def test_an_overlay_that_cannot_mount_is_named(own_engine) -> None:
    """An overlay cannot be the upper of another one: the real refusal, by the kernel."""
    base = own_engine.directory / "stacked"
    for part in ("lower", "upper", "work", "merged"):
        (base / part).mkdir(parents=True)
    options = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
    # The engine has its own mount namespace, so that the mount is made in there, and seen from here too.
    inside = ["nsenter", f"--mount=/proc/{own_engine.pid()}/ns/mnt"]
    mount = ["mount", "-t", "overlay", "overlay", "-o", options, f"{base}/merged"]
    subprocess.run([*inside, *mount], check=True)
    subprocess.run(mount, check=True)
    try:
        checks = {check.name: check for check in probe.probe_engine(find_engine(), base / "merged")}
    finally:
        subprocess.run(["umount", f"{base}/merged"], check=True)
        subprocess.run([*inside, "umount", f"{base}/merged"], check=True)
    overlay = checks["engine-overlay"]
    assert not overlay.ok
    assert overlay.detail.startswith(f"Overlays in {base}/merged do not mount read-write: ")
    assert overlay.fix == ("Put the data directory on a local ext4, xfs or btrfs file system: bancada up --data DIR")
    assert leftovers(own_engine) == []


def test_a_missing_base_image_is_one_finding(own_engine) -> None:
    checks = probe.probe_engine(find_engine(), own_engine.directory / "scratch", "no-such-image:1")
    assert [check.name for check in checks if not check.ok] == ["engine-kernel", "engine-files", "engine-overlay"]
    assert "No such image: no-such-image:1" in checks[-1].detail


def test_what_an_engine_says_about_itself() -> None:
    rootless = probe._rootful({"SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]})
    assert (rootless.ok, rootless.detail) == (
        False,
        "The engine runs rootless; people's files need their own user ids.",
    )
    assert probe._seccomp({"SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin"]}).ok
    for off in ([], ["name=apparmor"], ["name=seccomp,profile=unconfined"]):
        assert not probe._seccomp({"SecurityOptions": off}).ok
    renumbered = probe._rootful({"SecurityOptions": ["name=userns"]})
    assert not renumbered.ok
    assert "userns-remap" in renumbered.detail
    weak = probe._limits({"MemoryLimit": False, "CpuCfsQuota": True, "Warnings": ["WARNING: No memory limit support"]})
    assert (weak.ok, weak.detail) == (
        False,
        "The engine cannot hold memory limits. The engine cannot hold process limits. WARNING: No memory limit support",
    )
    assert not probe._linux({"OSType": "windows"}).ok
    old = engine.Engine("unix:///x", "19.03", "1.40", "1", "overlay2", "/", "vm", "")
    assert (probe._api(old).ok, probe._api(old).detail) == (
        False,
        "Engine 19.03 speaks API 1.40; 1.41 or newer is needed.",
    )


def test_little_space_is_said_with_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(probe, "NEEDED_SPACE_BYTES", Bytes(2**60))
    tight = probe._space(engine.Engine("unix:///x", "20.10", "1.41", "1", "overlay2", "/", "vm", ""), tmp_path)
    assert not tight.ok
    assert f"GiB are free at {tmp_path}" in tight.detail
    assert tight.fix == "Free some space there: what images use is shown by: docker system df"
