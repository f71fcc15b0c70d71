"""The process engine: a plan on this machine's own paths, and processes that are found and ended."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bancada_hub.launch.choices import Choices
from bancada_hub.launch.on_host import HostView
from bancada_hub.launch.person_environment import give_away
from bancada_hub.launch.plan import plan
from bancada_hub.launch.processes import Known, end_server, exit_status, processes_of, spawn, wait_for_end
from tests.hub.launch.examples import facts


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_paths_inside_become_paths_of_this_machine() -> None:
    view = HostView(plan(facts(), Choices()), facts().places, Path("/tmp/run-1"), Path("/srv/env"))
    variables = dict(view.environment())
    data = "/srv/bancada"
    assert variables["HOME"] == f"{data}/fs/homes/2000000"
    assert variables["PATH"] == f"/srv/env/bin:/usr/local/bin:/usr/bin:/bin:{data}/lowers/server-1/bin"
    assert variables["JUPYTER_DATA_DIR"] == f"{data}/state/2000000/jupyter"
    assert variables["JUPYTER_RUNTIME_DIR"] == "/tmp/run-1/jupyter"
    assert variables["PIP_CACHE_DIR"] == "/tmp/run-1/cache/pip"
    assert variables["BANCADA_PLACES"] == "/tmp/run-1/places"
    assert variables["BANCADA_SERVER"] == "bancada-0123abcd-2000000-2"
    assert json.loads(variables["BANCADA_LINKS"])["Project"] == f"{data}/fs/projects/2/files"
    assert view.command() == [f"{data}/lowers/server-1/bin/python", "-I", "-m", "bancada.server"]


def start(tmp_path: Path, program: str) -> Known:
    environment = {"BANCADA_SERVER": f"test-{os.getpid()}", "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    return spawn([sys.executable, "-c", program], environment, None, tmp_path / "log")


def test_a_server_is_ended_with_what_it_started_in_other_sessions(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys, time;"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True);"
        "print('up', flush=True); time.sleep(600)"
    )
    known = start(tmp_path, program)
    name = f"test-{os.getpid()}"
    until(lambda: len(processes_of(name)) == 2)
    assert exit_status(known) is None
    assert end_server(name, 5) == 2
    wait_for_end(known)
    assert exit_status(known) is not None
    assert processes_of(name) == []


def test_a_server_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    known = start(
        tmp_path, "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    until(lambda: "deaf" in (tmp_path / "log").read_text())
    assert end_server(f"test-{os.getpid()}", 0.2) == 1
    wait_for_end(known)
    assert processes_of(f"test-{os.getpid()}") == []


def test_the_status_of_one_that_ended_and_of_a_later_one_of_its_number(tmp_path: Path) -> None:
    known = start(tmp_path, "raise SystemExit(78)")
    seen: list[int] = []

    def ended() -> bool:
        status = exit_status(known)
        seen.extend([] if status is None else [status])
        return status is not None

    until(ended)
    assert seen == [78]
    assert exit_status(Known(os.getpid(), 1.0)) == 0
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_a_tree_is_given_away_without_following_links(tmp_path: Path) -> None:
    tree, outside = tmp_path / "env", tmp_path / "outside"
    (tree / "bin").mkdir(parents=True)
    outside.write_text("")
    (tree / "bin" / "link").symlink_to(outside)
    give_away(tree, 2_000_000, 2_000_001)
    assert (tree / "bin" / "link").lstat().st_uid == 2_000_000
    assert tree.stat().st_uid == 2_000_000
    assert outside.stat().st_uid == 0
