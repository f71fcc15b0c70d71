"""`bancada NOUN …`: real processes, with nouns from a distribution that the test lays on the path."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

GOOD = """
import sys, time
from bancada.errors import BancadaError

def register(subparsers):
    parser = subparsers.add_parser("trial", help="A noun for tests.")
    parser.add_argument("what")
    parser.set_defaults(run=run)

def run(arguments):
    if arguments.what == "refuse":
        raise BancadaError("Port 8000 is taken by nginx (pid 7).", fix="Choose another with --port N.")
    if arguments.what == "break":
        return 1 // 0
    if arguments.what == "wait":
        print("waiting", flush=True)
        time.sleep(60)
    if arguments.what == "talk":
        for _ in range(100_000):
            print("a line of output")
    return 7
"""


@pytest.fixture
def command(tmp_path: Path):
    """Return a function that starts `bancada` with the test's nouns installed."""
    info = tmp_path / "trial-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trial\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[bancada.nouns]\ntrial = trial_noun:register\nlacking = lacking_noun:register\nbroken = broken_noun:register\n"
    )
    (tmp_path / "trial_noun.py").write_text(GOOD)
    (tmp_path / "lacking_noun.py").write_text("import a_library_of_an_extra\n")
    (tmp_path / "broken_noun.py").write_text("raise RuntimeError('at import')\n")
    path = os.pathsep.join([str(tmp_path), *(str(ROOT / part) for part in ("hub", "images", "extensions"))])

    def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "bancada.cli", *arguments],
            env={**os.environ, "PYTHONPATH": path, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    said, complained = process.communicate(timeout=60)
    return process.returncode, said, complained


def test_status_of_the_noun_is_the_status_of_the_command(command) -> None:
    assert finish(command("trial", "go")) == (7, "", "")


def test_error_is_two_lines_without_a_traceback(command) -> None:
    assert finish(command("trial", "refuse")) == (
        1,
        "",
        "error: Port 8000 is taken by nginx (pid 7).\nChoose another with --port N.\n",
    )


def test_fault_of_our_own_says_how_to_report_it(command) -> None:
    assert finish(command("trial", "break")) == (
        1,
        "",
        (
            "error: Bancada itself failed: ZeroDivisionError: integer division or modulo by zero\n"
            "Run it again with the details, and report them: BANCADA_DEBUG=1 bancada trial break\n"
        ),
    )


def test_traceback_on_request(command) -> None:
    status, _, complained = finish(command("trial", "break", BANCADA_DEBUG="1"))
    assert status == 1
    assert complained.startswith("Traceback (most recent call last):")


def test_control_c_says_how_to_go_on(command) -> None:
    process = command("trial", "wait")
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert finish(process) == (130, "", "\nStopped. Run the same command again to go on.\n")


def test_reader_that_goes_away_leaves_no_traceback(command) -> None:
    process = command("trial", "talk")
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 1


def test_noun_without_its_extra_is_named_only_when_asked_for(command, tmp_path: Path) -> None:
    (tmp_path / "broken_noun.py").write_text("def register(subparsers):\n    pass\n")
    status, said, _ = finish(command("--help"))
    assert status == 0
    assert "A noun for tests." in said
    assert "lacking" not in said
    assert finish(command("lacking")) == (
        1,
        "",
        (
            "error: `bancada lacking` needs the Python module a_library_of_an_extra, which is not installed.\n"
            "pip install 'bancada[hub]'\n"
        ),
    )


def test_a_noun_does_not_wait_for_the_others(command) -> None:
    """The module of `broken` fails at import; `trial` never imports it."""
    assert finish(command("trial", "go"))[0] == 7


def test_unknown_noun_lists_those_that_exist(command, tmp_path: Path) -> None:
    (tmp_path / "broken_noun.py").write_text("def register(subparsers):\n    pass\n")
    status, _, complained = finish(command("trail"))
    assert status == 2
    assert "invalid choice: 'trail'" in complained
    assert "trial" in complained.rpartition("choose from")[2]


def test_version_imports_no_noun(command) -> None:
    assert finish(command("--version"))[1] == "bancada 0.1.0\n"
