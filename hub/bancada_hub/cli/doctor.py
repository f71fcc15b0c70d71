"""`bancada doctor`: what was checked, and how to mend what is wrong."""

import argparse
import contextlib
import json
import sys
from dataclasses import asdict

from bancada_hub.cli.where import add_site_options, add_yes_option, ask
from bancada_hub.doctor import examine, examine_part
from bancada_hub.doctor_gpu import gpu_host
from bancada_hub.errors import SettingsError
from bancada_hub.host import connection
from bancada_hub.host.gpu_toolkit import Hand, mend
from bancada_hub.installation import read_installation


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("doctor", help="check this machine and the site; says how to mend what is wrong")
    add_site_options(parser)
    add_yes_option(parser)
    parser.add_argument("part", nargs="?", choices=["gpu"], help="look at this alone")
    parser.add_argument(
        "--install", action="store_true", help="with gpu: install and configure NVIDIA's container toolkit; no driver"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.install:
        _install(arguments)
    found = list(examine_part(arguments.data, arguments.part) if arguments.part else examine(arguments.data))
    if arguments.json:
        sys.stdout.write(json.dumps([asdict(check) for check in found]) + "\n")
    else:
        for check in found:
            sys.stdout.write(f"  {'✓' if check.ok else '✗'} {check.name:<22} {check.detail}\n")
            if check.fix and not check.ok:
                sys.stdout.write(f"    {check.fix}\n")
    return 0 if all(check.ok for check in found) else 1


def _install(arguments: argparse.Namespace) -> None:
    installation = read_installation(arguments.data)
    if arguments.part != "gpu":
        msg = "--install belongs to a part."
        raise SettingsError(msg, fix="Run: ./bancada doctor gpu --install")
    if installation.site.engine != "docker":
        msg = "Servers of the process engine get no cards."
        raise SettingsError(msg, fix="Cards need the docker engine: ./bancada up --engine docker --data DIR")
    found, _ = gpu_host(installation)
    with contextlib.closing(connection.connect(installation.facts.engine_host)) as client:
        running = [str(each.name) for each in client.containers.list()]
        survive = bool(client.info().get("LiveRestoreEnabled"))
    asked = ask if sys.stdin.isatty() else None

    def tell(text: str) -> None:
        sys.stderr.write(f"  {text}\n")

    mend(found, running, survive=survive, hand=Hand(arguments.yes, asked, tell))
