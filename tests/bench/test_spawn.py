"""What bench/spawn.py decides without an engine: nothing here is timed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPAWN = ROOT / "bench" / "spawn.py"


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    from spawning import report

    return report


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SPAWN), *arguments], capture_output=True, text=True, check=False)


def test_it_says_how_it_is_used() -> None:
    said = run("--help")
    assert said.returncode == 0, said.stderr
    assert "--pairs" in said.stdout


def test_a_directory_that_is_not_its_own_stays_as_it_is(tmp_path: Path) -> None:
    kept = tmp_path / "bancada.toml"
    kept.write_text("port = 8000\n")
    said = run("--data", str(tmp_path))
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == f"error: {tmp_path} is not the bench's own; name another directory with --data.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["bancada.toml"]


def test_a_goal_is_met_on_its_own_side_of_the_bound(report) -> None:
    low, high = report.Goal("a / b", 1.2, at_most=True), report.Goal("b / a", 1.8, at_most=False)
    assert [low.met(1.2), low.met(1.21), high.met(1.8), high.met(1.79)] == [True, False, True, False]
    assert low.verdict(1.5) == "a / b: 1.50, goal at most 1.2: NOT MET"
    assert high.verdict(2.0) == "b / a: 2.00, goal at least 1.8: met"


def test_rounds_are_shown_one_a_line_with_their_medians(report) -> None:
    assert report.ratios([2.0, 9.0], [1.0, 3.0]) == [2.0, 3.0]
    lines: list[str] = []
    report.show_rounds(lines.append, {"ours": [1.0, 3.0, 2.0], "stock": [4.0, 4.0, 6.0]}, "s")
    assert [line.split() for line in lines] == [
        ["round", "ours", "stock", "(s)"],
        ["1", "1.00", "4.00"],
        ["2", "3.00", "4.00"],
        ["3", "2.00", "6.00"],
        ["median", "2.00", "4.00"],
    ]
