"""`--quick` and `--no-skips`: what is left out is told, and in CI it fails the run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.conftest import *
"""
TESTS = """
import pytest

def test_plain(): pass

@pytest.mark.engine
def test_with_engine(): pass

@pytest.mark.browser
def test_with_browser(): pass

@pytest.mark.registry
def test_with_registry(): pass

@pytest.mark.site
def test_with_site(): pass

@pytest.mark.database
def test_with_database(): {body}
"""


def run(folder: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(TESTS.format(body=body))
    markers = "[pytest]\nmarkers =\n    engine\n    browser\n    database\n    registry\n    site\n"
    (folder / "pytest.ini").write_text(markers)
    command = [sys.executable, "-m", "pytest", *options, str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_quick_leaves_out_what_needs_the_machine(tmp_path: Path) -> None:
    result = run(tmp_path, "pass", "--quick")
    assert result.returncode == 0, result.stdout
    assert "left out: 1 browser, 1 database, 1 engine, 1 registry, 1 site" in result.stdout
    assert "1 passed, 5 deselected" in result.stdout


def test_a_complete_run_is_content(tmp_path: Path) -> None:
    result = run(tmp_path, "pass", "--no-skips")
    assert result.returncode == 0, result.stdout
    assert "ran: 1 browser, 1 database, 1 engine, 1 registry, 1 site" in result.stdout


@pytest.mark.parametrize(
    ("body", "options", "said"),
    [
        ("pytest." + "skip('not today')", (), "1 tests that need database were skipped or left out"),
        ("pass", ("-k", "not engine"), "1 tests that need engine were skipped or left out"),
        ("pass", ("-k", "plain"), "no test that needs a browser ran"),
    ],
)
def test_a_run_that_left_something_out_fails(tmp_path: Path, body: str, options: tuple[str, ...], said: str) -> None:
    result = run(tmp_path, body, "--no-skips", *options)
    assert result.returncode == 1, result.stdout
    assert f"error: {said}" in result.stdout
