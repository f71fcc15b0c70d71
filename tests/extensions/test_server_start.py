"""What a server checks and prepares before it serves; and that a failed check is told in one line."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bancada.contract import START_FAILED_EXIT, parse_start_failure
from bancada.server.checks import Start, check, mount_type
from bancada.server.configuration import configuration
from bancada.server.install import install
from bancada.server.places import make_places

OVERLAY = "30 20 0:50 / /opt/env rw,relatime - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c\n"


@pytest.fixture
def start(tmp_path: Path) -> Start:
    home, runtime, work = tmp_path / "home", tmp_path / "run", tmp_path / "env"
    home.mkdir()
    runtime.mkdir(mode=0o700)
    (work / "bin").mkdir(parents=True)
    (work / "bin" / "python").symlink_to(sys.executable)
    return Start("work", home, runtime, work)


def reason(start: Start, mountinfo: str = "") -> str | None:
    failure = check(start, mountinfo)
    return failure.reason if failure else None


def test_a_start_that_finds_everything(start: Start) -> None:
    assert check(start, "") is None


def test_a_home_of_somebody_else_or_none(start: Start) -> None:
    os.chown(start.home, 1234, 1234)
    failure = check(start, "")
    assert failure is not None
    assert failure.sentence == f"The home {start.home} belongs to uid 1234, not to you (uid 0). Ask an administrator."
    start.home.rmdir()
    assert reason(start) == "home"


def test_a_projects_folder_that_cannot_be_written(start: Start) -> None:
    """D15: a folder that the engine made, or that somebody took away."""
    assert check(replace(start, project=start.home), "") is None
    failure = check(replace(start, project=start.home / "gone"), "")
    assert failure is not None
    assert failure.reason == "project"


def test_a_runtime_folder_that_others_can_write(start: Start) -> None:
    start.runtime.chmod(0o777)
    assert reason(start) == "runtime"


def test_an_environment_without_python(start: Start) -> None:
    (start.work_environment / "bin" / "python").unlink()
    assert reason(start) == "environment"


def test_an_environment_that_came_up_read_only(start: Start) -> None:
    where = str(start.work_environment)
    subprocess.run(["mount", "--bind", where, where], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", where], check=True)
        failure = check(start, "")
        assert failure is not None
        assert (failure.reason, "rescue" in failure.sentence) == ("read-only", True)
        assert check(Start("rescue", start.home, start.runtime, start.work_environment), "") is None
    finally:
        subprocess.run(["umount", where], check=True)


def test_the_type_of_a_mount_is_that_of_the_topmost() -> None:
    plain = "30 20 0:50 / /opt/env rw - tmpfs tmpfs rw\n"
    assert mount_type(Path("/opt/env"), plain) == "tmpfs"
    assert mount_type(Path("/opt/env"), plain + OVERLAY) == "overlay"
    assert mount_type(Path("/opt"), OVERLAY) is None


def test_a_failed_check_is_one_line_and_an_exit_status(start: Start) -> None:
    (start.work_environment / "bin" / "python").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "bancada.server"],
        env=os.environ
        | {
            "HOME": str(start.home),
            "JUPYTER_RUNTIME_DIR": str(start.runtime / "jupyter"),
            "BANCADA_WORK_ENVIRONMENT": str(start.work_environment),
            "PYTHONPATH": ":".join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == START_FAILED_EXIT
    failure = parse_start_failure(done.stderr)
    assert failure is not None
    assert failure.reason == "environment"
    assert done.stderr.count("\n") == 1


def test_places_lead_where_the_engine_says_and_take_no_files(tmp_path: Path) -> None:
    places = tmp_path / "places"
    environment = {"BANCADA_PLACES": str(places), "HOME": "/home/ana"}
    make_places(environment)
    make_places(environment | {"BANCADA_LINKS": json.dumps({"Project": "/srv/files"})})
    found = {path.name: str(path.readlink()) for path in places.iterdir()}
    assert found == {"My files": "/home/ana", "Project": "/srv/files", "Data": "/data", "Examples": "/examples"}
    assert places.stat().st_mode & 0o777 == 0o500


def test_an_installed_server_environment_has_one_kernelspec_with_an_absolute_path(tmp_path: Path) -> None:
    kernels = tmp_path / "share" / "jupyter" / "kernels"
    (kernels / "other").mkdir(parents=True)
    install(tmp_path, Path("/opt/env"))
    assert [path.name for path in kernels.iterdir()] == ["python3"]
    argv = json.loads((kernels / "python3" / "kernel.json").read_text())["argv"]
    assert argv[0] == "/opt/env/bin/python"
    overrides = json.loads((tmp_path / "share/jupyter/lab/settings/overrides.json").read_text())
    assert overrides["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


def test_the_configuration_names_what_a_person_cannot_change() -> None:
    made = configuration(Path("/places"), "My files")
    assert made.ServerApp.contents_manager_class == "bancada.server.contents.WholeFileManager"
    assert made.KernelSpecManager.ensure_native_kernel is False
    assert made.KernelManager.transport == "ipc"
    assert made.LabApp.extension_manager == "readonly"
    assert made.LabApp.news_url is None
    assert made.ServerApp.allow_unauthenticated_access is False
