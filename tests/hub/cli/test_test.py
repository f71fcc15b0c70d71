"""`bancada test`: what it runs, in which order, and what it says."""

import argparse
import io
from collections.abc import Sequence

import pytest

from bancada_hub.cli.report import Report
from bancada_hub.cli.test import Check, Outcome, _run_checks, checks, register

PASSES = Check("passes", ("python", "-c", ""))
FAILS = Check("fails", ("python", "-c", "raise SystemExit(3)"))


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    register(parser.add_subparsers())
    return parser.parse_args(["test", *words])


def commands(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [check.command for check in checks(parsed(*words))]


@pytest.fixture(autouse=True)
def not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def test_the_cheapest_check_is_the_first() -> None:
    assert [command[0] for command in commands([])] == ["ruff", "ruff", "lint-imports", "mypy", "pytest"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ("pytest",)),
        (["--quick"], ("pytest", "--quick")),
        (["--no-skips"], ("pytest", "--no-skips")),
        (["--", "-k", "plan"], ("pytest", "-k", "plan")),
        (["--quick", "tests/hub", "-x"], ("pytest", "--quick", "tests/hub", "-x")),
    ],
)
def test_arguments_reach_pytest(words: list[str], expected: tuple[str, ...]) -> None:
    assert commands(words)[-1] == expected


def test_ci_wants_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    assert commands([])[-1] == ("pytest", "--no-skips")
    assert commands(["tests/hub"])[-1] == ("pytest", "tests/hub")


def test_the_first_failure_ends_the_run() -> None:
    said = io.StringIO()
    outcomes = _run_checks([PASSES, FAILS, PASSES], Report(said))
    assert [(outcome.name, outcome.verdict) for outcome in outcomes] == [
        ("passes", "passed"),
        ("fails", "failed"),
        ("passes", "not run"),
    ]
    assert outcomes[2] == Outcome("passes", "not run")
    assert [line for line in said.getvalue().splitlines() if line.startswith("==")] == ["== 1/3 passes", "== 2/3 fails"]
