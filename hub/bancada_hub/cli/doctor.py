"""`bancada doctor`: what was checked, and how to mend what is wrong."""

import argparse
import json
import sys
from dataclasses import asdict

from bancada_hub.cli.where import add_site_options
from bancada_hub.doctor import examine


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("doctor", help="check this machine and the site; says how to mend what is wrong")
    add_site_options(parser)
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    found = list(examine(arguments.data))
    if arguments.json:
        sys.stdout.write(json.dumps([asdict(check) for check in found]) + "\n")
    else:
        for check in found:
            sys.stdout.write(f"  {'✓' if check.ok else '✗'} {check.name:<22} {check.detail}\n")
            if check.fix and not check.ok:
                sys.stdout.write(f"    {check.fix}\n")
    return 0 if all(check.ok for check in found) else 1
