"""`./bancada` in a copy of the checkout: it makes `.venv` for real, from the locks."""

import ast
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = (
    "bancada",
    "pyproject.toml",
    "LICENSE",
    "README.md",
    "requirements",
    "hub",
    "images",
    "extensions",
    "notebooks",
)
OUTPUT_LIMIT_S = 240
SKIPPED = shutil.ignore_patterns("__pycache__")


def copy_checkout(target: Path) -> Path:
    target.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=SKIPPED)
        else:
            shutil.copy2(source, target / name)
    return target


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A checkout whose `.venv` was made by its first command."""
    checkout = copy_checkout(tmp_path_factory.mktemp("bootstrap") / "checkout")
    first = bancada(checkout, "--version")
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[-1] == "bancada 0.1.0"
    (checkout / "first-output").write_text(first.stdout)
    yield checkout
    shutil.rmtree(checkout)


def environment(data: Path | None, **variables: str) -> dict[str, str]:
    dropped = {"BANCADA_DEV", "BANCADA_DATA", "PYTHONPATH"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "BANCADA_DATA": str(data or "/nonexistent"), **variables}


def bancada(
    checkout: Path, *arguments: str, data: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(checkout / "bancada"), *arguments],
        env=environment(data, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=OUTPUT_LIMIT_S,
        check=False,
    )


def stamp(checkout: Path) -> Path:
    return checkout / ".venv" / "bancada-stamp.json"


def steps(output: str) -> list[str]:
    return [line.partition(" … ")[0] for line in output.splitlines() if " … " in line]


def test_first_run_shows_each_step_with_its_seconds(installed: Path) -> None:
    output = (installed / "first-output").read_text()
    version = sys.version.split()[0]
    assert steps(output) == [
        f"Make .venv with Python {version}",
        "Install uv",
        "Install packages",
        "Install Bancada",
    ]
    for line in output.splitlines()[:-1]:
        assert line.endswith(" s")
        assert float(line.rpartition(" … ")[2].removesuffix(" s")) >= 0


def test_second_run_installs_nothing_and_starts_at_once(installed: Path) -> None:
    start = time.monotonic()
    second = bancada(installed, "--version")
    assert second.stdout == "bancada 0.1.0\n"
    assert time.monotonic() - start < 2  # the command line itself included, on a busy machine


def test_interrupted_installation_is_taken_up_again(installed: Path) -> None:
    left = json.loads(stamp(installed).read_text())
    stamp(installed).write_text(json.dumps({**left, "packages": ""}))
    again = bancada(installed, "--version")
    assert steps(again.stdout) == ["Install packages", "Install Bancada"]
    assert json.loads(stamp(installed).read_text()) == left


def test_control_c_during_installation_says_how_to_go_on(installed: Path) -> None:
    left = json.loads(stamp(installed).read_text())
    stamp(installed).write_text(json.dumps({**left, "packages": ""}))
    process = subprocess.Popen(
        [sys.executable, str(installed / "bancada"), "--version"],
        env=environment(None),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    assert process.stdout.read(len("Install packages")) == "Install packages"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, complained = process.communicate(timeout=60)
    assert (process.returncode, complained) == (130, "\nStopped. Run the same command again to go on.\n")
    assert bancada(installed, "--version").stdout.endswith("bancada 0.1.0\n")


def test_interrupted_making_of_the_environment_is_done_again(installed: Path) -> None:
    left = json.loads(stamp(installed).read_text())
    stamp(installed).write_text(json.dumps({**left, "packages": "", "python": ""}))
    (installed / ".venv" / "bin" / "uv").unlink()
    again = bancada(installed, "--version")
    assert len(steps(again.stdout)) == 4
    assert again.stdout.endswith("bancada 0.1.0\n")


def test_moved_checkout_gets_a_new_environment(installed: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    installed.rename(moved)
    try:
        again = bancada(moved, "--version")
        assert steps(again.stdout)[0].startswith("Make .venv with Python")
        assert json.loads(stamp(moved).read_text())["place"] == str(moved)
    finally:
        moved.rename(installed)
    assert bancada(installed, "--version").stdout.endswith("bancada 0.1.0\n")


def test_environment_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    checkout = copy_checkout(tmp_path / "checkout")
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "mine").write_text("kept")
    refused = bancada(checkout, "--version")
    assert refused.returncode == 1
    assert refused.stderr == (
        f"error: {checkout}/.venv is there and was not made by Bancada.\n"
        f"Move it away: mv {checkout}/.venv {checkout}/.venv.old\n"
    )
    assert (checkout / ".venv" / "mine").read_text() == "kept"


def test_failed_step_shows_the_command_and_what_it_said(installed: Path, tmp_path: Path) -> None:
    """An air-gapped site whose wheelhouse is empty: nothing comes from an index, and uv says what is missing."""
    left = stamp(installed).read_text()
    stamp(installed).write_text(json.dumps({**json.loads(left), "packages": ""}))
    (tmp_path / "wheels").mkdir()
    (tmp_path / "bancada.toml").write_text(f'[packages]\nwheelhouse = "{tmp_path}/wheels"\n')
    lock = installed / "requirements" / "bancada.txt"
    locked = lock.read_text()
    lock.write_text(locked + "no-such-package==1.0 --hash=sha256:" + "0" * 64 + "\n")
    failed = bancada(installed, "--version", data=tmp_path)
    lock.write_text(locked)
    assert failed.returncode == 1
    assert failed.stdout.startswith("Install packages … failed\n")
    assert failed.stderr.startswith(
        f"error: Install packages: the command failed: {installed}/.venv/bin/uv pip sync --python"
    )
    assert "no-such-package" in failed.stderr
    assert "--no-index" in failed.stderr
    assert failed.stderr.endswith("Mend that, then run it again.\n")
    stamp(installed).write_text(left)


def test_air_gapped_site_installs_from_its_wheelhouse(installed: Path, tmp_path: Path) -> None:
    """Without a network, without a cache: everything comes from the folder that the settings name.

    The lock is cut down to what builds the package, to keep the download of the test small.
    """
    wheels, checkout = tmp_path / "wheels", copy_checkout(tmp_path / "checkout")
    lock = checkout / "requirements" / "bancada.txt"
    kept = {"editables", "hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers", "uv"}
    entries = re.split(r"\n(?=\S)", lock.read_text().strip())
    lock.write_text("\n".join(entry for entry in entries if entry.partition("==")[0] in kept) + "\n")
    pip = [str(installed / ".venv" / "bin" / "python"), "-m", "pip", "download", "--no-deps", "--require-hashes"]
    subprocess.run(
        [*pip, "--quiet", "--dest", str(wheels), "--requirement", str(lock)], check=True, stderr=subprocess.DEVNULL
    )
    assert len(list(wheels.iterdir())) == len(kept)
    (tmp_path / "bancada.toml").write_text(f'[packages]\nwheelhouse = "{wheels}"\n')
    variables = {"UV_CACHE_DIR": str(tmp_path / "cache"), "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
    done = subprocess.run(
        ["unshare", "--net", sys.executable, str(checkout / "bancada"), "--version"],
        env=environment(tmp_path, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=OUTPUT_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("bancada 0.1.0\n")


def test_the_shells_certificates_reach_a_pip_that_reads_its_own_variable_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "bancada"), run_name="bootstrap")
    monkeypatch.setenv("SSL_CERT_FILE", "/lab/ca.crt")
    monkeypatch.delenv("PIP_CERT", raising=False)
    assert script["package_environment"](tmp_path)["PIP_CERT"] == "/lab/ca.crt"
    monkeypatch.setenv("PIP_CERT", "/own/ca.crt")
    assert script["package_environment"](tmp_path)["PIP_CERT"] == "/own/ca.crt"


def test_typo_in_the_settings_names_the_line(installed: Path, tmp_path: Path) -> None:
    left = stamp(installed).read_text()
    stamp(installed).write_text(json.dumps({**json.loads(left), "packages": ""}))
    (tmp_path / "bancada.toml").write_text("[packages]\nindex_url = https\n")
    failed = bancada(installed, "--version", "--data", str(tmp_path))
    stamp(installed).write_text(left)
    assert failed.returncode == 1
    assert failed.stderr.startswith(f"error: {tmp_path}/bancada.toml: Invalid value (at line 2, column 13)\n")


def test_old_python_can_read_the_script_far_enough_to_say_what_it_needs() -> None:
    source = (ROOT / "bancada").read_text()
    ast.parse(source, feature_version=(3, 6))
    old = "import sys; sys.version_info = (3, 9, 2); sys.executable = '/usr/bin/python3'; exec(sys.stdin.read())"
    said = subprocess.run([sys.executable, "-c", old], input=source, capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert said.stderr == (
        "error: Bancada needs Python 3.11 or newer; /usr/bin/python3 is 3.9.\n"
        "Debian 12 and newer have one. Run it with another interpreter: python3.11 ./bancada\n"
    )


def test_locks_have_hashes_and_no_addresses() -> None:
    locks = [*(ROOT / "requirements").glob("*.txt"), *(ROOT / "images").rglob("requirements.lock")]
    assert len(locks) >= 3
    for lock in locks:
        text = lock.read_text()
        assert "://" not in text, lock
        requirements = [line for line in text.splitlines() if "==" in line]
        assert requirements, lock
        assert all(line.endswith("\\") for line in requirements), lock  # a hash follows


def test_the_test_lock_holds_every_version_of_the_lock_for_running() -> None:
    def versions(name: str) -> set[str]:
        lines = (ROOT / "requirements" / name).read_text().splitlines()
        return {line.removesuffix("\\").strip() for line in lines if "==" in line}

    assert versions("bancada.txt") <= versions("test.txt")
    assert versions("bootstrap.txt") <= versions("bancada.txt")
