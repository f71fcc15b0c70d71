"""`bancada logs`: what the site's programs wrote."""

import argparse
import subprocess
import sys

from bancada_hub.cli.where import add_site_options
from bancada_hub.errors import SettingsError
from bancada_hub.installation import read_installation

PROGRAMS = ("hub", "console", "proxy", "dockerd")


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("logs", help="what the site's programs wrote")
    parser.add_argument("program", nargs="?", choices=PROGRAMS, help="one program; all without")
    parser.add_argument("-n", "--lines", type=int, default=50, metavar="N", help="the last N lines of each (50)")
    parser.add_argument("-f", "--follow", action="store_true", help="go on as lines come")
    add_site_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    places = read_installation(arguments.data).places
    wanted = [arguments.program] if arguments.program else PROGRAMS
    files = [str(path) for name in wanted if (path := places.logs / f"{name}.log").exists()]
    if not files:
        msg = f"There is no log in {places.logs} yet."
        raise SettingsError(msg, fix="Run ./bancada up")
    follow = ["-F"] if arguments.follow else []
    sys.stdout.flush()
    return subprocess.run(["tail", "-n", str(arguments.lines), *follow, *files], check=False).returncode
