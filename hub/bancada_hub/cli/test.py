"""`bancada test`: sets up all that the tests need, then runs every check of this checkout in order.

The cheapest check is the first; the first that fails ends the run, and a table of all of them closes it either way.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bancada_hub.cli.report import Report
from bancada_hub.cli.where import add_yes_option, ask
from bancada_hub.errors import HostError
from bancada_hub.host import debian

ROOT = Path(__file__).resolve().parents[3]
PROGRAM_PACKAGES = {
    "dockerd": "docker.io",
    "iptables": "iptables",
    "nft": "nftables",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "setfacl": "acl",
    "chromium": "chromium",
    "initdb": "postgresql",
}
"""A package is only asked for when its program is missing: an engine from elsewhere is not replaced by Debian's."""

MORE_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"
POSTGRES_PROGRAMS = "/usr/lib/postgresql"
REASON = "The tests use a real engine, browser and database."


@dataclass(frozen=True)
class Check:
    """One command that must succeed.

    Args:
        name: What people call it.
        command: The program, in the same environment as this one, and its arguments.
    """

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How one check went; `verdict` is "passed", "failed" or "not run"."""

    name: str
    verdict: str
    seconds: float = 0.0


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser(
        "test",
        help="run every check and test of this checkout",
        description="Runs ruff, import-linter, mypy and pytest, after installing what the tests need. Arguments for "
        "pytest come last; put -- before the first that starts with a dash.",
    )
    parser.add_argument(
        "--quick", action="store_true", help="only what needs no root, engine, browser, database or running site"
    )
    parser.add_argument("--no-skips", action="store_true", help="fail if a test was left out (CI=true sets it)")
    add_yes_option(parser)
    parser.add_argument("pytest", nargs=argparse.REMAINDER, help="arguments for pytest; paths are below the checkout")
    parser.set_defaults(run=_run)


def checks(arguments: argparse.Namespace) -> list[Check]:
    """Return the checks in their order."""
    complete = arguments.no_skips or os.environ.get("CI") == "true"
    more = [word for word in arguments.pytest if word != "--"]
    options = ["--quick"] if arguments.quick else ["--no-skips"] if complete and not more else []
    return [
        Check("ruff check", ("ruff", "check", ".")),
        Check("ruff format", ("ruff", "format", "--check", ".")),
        Check("import contracts", ("lint-imports",)),
        Check("mypy", ("mypy",)),
        Check("pytest", ("pytest", *options, *more)),
    ]


def _run(arguments: argparse.Namespace) -> int:
    if not (ROOT / "tests" / "conftest.py").exists():
        raise HostError(
            "The tests are in a checkout of Bancada, and this is an installed package.",
            fix="Run ./bancada test in a clone of the repository.",
        )
    if not arguments.quick:
        _install(agreed=arguments.yes or os.environ.get("CI") == "true")
    report = Report()
    outcomes = _run_checks(checks(arguments), report)
    report.line(f"\n{'=' * 72}")
    for outcome in outcomes:
        seconds = f"{outcome.seconds:7.1f} s" if outcome.verdict != "not run" else ""
        report.line(f"  {outcome.name:<20} {outcome.verdict:<10} {seconds}".rstrip())
    failed = [outcome.name for outcome in outcomes if outcome.verdict == "failed"]
    report.line(f"Failed: {failed[0]}" if failed else "All checks passed.")
    return 1 if failed else 0


def _run_checks(given: Sequence[Check], report: Report) -> list[Outcome]:
    """Run checks until one fails; the rest is told as not run."""
    outcomes: list[Outcome] = []
    for number, check in enumerate(given, start=1):
        if any(outcome.verdict == "failed" for outcome in outcomes):
            outcomes.append(Outcome(check.name, "not run"))
            continue
        report.line(f"\n== {number}/{len(given)} {check.name}")
        begun = time.monotonic()
        verdict = "passed" if _succeeds(check) else "failed"
        outcomes.append(Outcome(check.name, verdict, time.monotonic() - begun))
        report.line(f"{check.name}: {verdict} in {outcomes[-1].seconds:.1f} s")
    return outcomes


def _succeeds(check: Check) -> bool:
    """Run a check's program from this environment, with its output going straight to the reader."""
    program = Path(sys.executable).with_name(check.command[0])
    if not program.exists():
        raise HostError(
            f"{check.command[0]} is not installed beside {sys.executable}.",
            fix="Run it as ./bancada test, which installs the test tools first.",
        )
    return subprocess.run([program, *check.command[1:]], cwd=ROOT, env=_environment(), check=False).returncode == 0


def _environment() -> dict[str, str]:
    """Return the environment of the checks: an ordinary account's PATH lacks the folders of engine and firewall."""
    return {**os.environ, "PATH": os.pathsep.join((os.environ.get("PATH", os.defpath), MORE_FOLDERS))}


def _install(*, agreed: bool) -> None:
    packages = [package for program, package in PROGRAM_PACKAGES.items() if not _is_there(program)]
    if not packages:
        return
    report = Report()
    with report.step("What the tests need") as line:
        line.say(f"apt-get install {' '.join(packages)}")
        debian.install(packages, reason=REASON, agreed=agreed, ask=ask if sys.stdin.isatty() else None)
        line.outcome = ", ".join(packages)


def _is_there(program: str) -> bool:
    if program == "initdb" and any(Path(POSTGRES_PROGRAMS).glob("*/bin/initdb")):
        return True
    return shutil.which(program, path=_environment()["PATH"]) is not None
