"""`bancada demo`: the product in ten minutes, in a folder of its own, without root, engine or GPU."""

import argparse
import json
import shutil
import sys
from pathlib import Path

from bancada_hub.cli import down
from bancada_hub.cli.report import Report
from bancada_hub.cli.settings import settle
from bancada_hub.cli.up import Up, make_folders
from bancada_hub.demo.scenes import SCENES
from bancada_hub.demo.town import CARDS, fill
from bancada_hub.errors import SettingsError
from bancada_hub.host.ports import first_free
from bancada_hub.installation import Facts, keep_facts, new_site_id, read_facts
from bancada_hub.places import Places
from bancada_hub.site import check_data_directory, default_data_directory
from bancada_hub.store.database import migrate, open_store

FIRST_PORT = 8800


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("demo", help="show the product in a throw-away site: no root, no engine, no GPU")
    parser.add_argument(
        "--data",
        type=lambda text: Path(text).absolute(),
        default=default_data_directory().with_name("bancada-demo"),
        metavar="DIR",
        help="the demo's own folder (%(default)s)",
    )
    words = f"the first of its five ports; the first that are free from {FIRST_PORT}"
    parser.add_argument("--port", type=int, metavar="N", help=words)
    parser.add_argument("--remove", action="store_true", help="end the demo and remove its folder")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    places = Places(arguments.data)
    _refuse_another_site(places)
    if arguments.remove:
        return _remove(arguments, places)
    check_data_directory(places.data)
    make_folders(places)
    known = read_facts(places)
    port = arguments.port or (None if known else first_free(FIRST_PORT))
    site = settle(places, engine="process", port=port)
    keep_facts(places, known or Facts(site_id=new_site_id(), simulated_gpus=CARDS, demo=True))
    migrate(site, places)
    store = open_store(site, places)
    fill(store, site)
    store.engine.dispose()
    asked = argparse.Namespace(data=places.data, port=None, yes=False, engine=None, simulate_gpus=None)
    with _quiet(arguments.json):
        status = Up(asked, Report(), places).run()
    if arguments.json:
        sys.stdout.write(json.dumps({"url": site.url, "data": str(places.data)}) + "\n")
    else:
        sys.stdout.write(_words(site.url))
    return status


def _words(url: str) -> str:
    lines = [f"\nThe demo is at {url}", "Sign in with one click, then:"]
    lines += [f"  {number}. {scene.look}" for number, scene in enumerate((each for each in SCENES if each.look), 1)]
    lines += [f"What was real, and what proves it: {url}services/bancada/demo", "Remove it: ./bancada demo --remove"]
    return "\n".join(lines) + "\n"


class _quiet:  # noqa: N801 - used as a word in a `with`
    """Sends what is printed to the error stream, so that a program reads its one line of JSON alone."""

    def __init__(self, wanted: bool) -> None:
        self._wanted, self._kept = wanted, sys.stdout

    def __enter__(self) -> None:
        if self._wanted:
            sys.stdout = sys.stderr

    def __exit__(self, *_: object) -> None:
        sys.stdout = self._kept


def _refuse_another_site(places: Places) -> None:
    facts = read_facts(places) if places.site.exists() else None
    foreign = facts is not None and not facts.demo
    if foreign or (facts is None and places.data.exists() and any(places.data.iterdir())):
        msg = f"{places.data} is not a demo's folder."
        raise SettingsError(msg, fix="Name another one: ./bancada demo --data DIR")


def _remove(arguments: argparse.Namespace, places: Places) -> int:
    if not places.data.exists():
        return _removed(arguments, places, "There is no demo at")
    if read_facts(places) is not None:
        with _quiet(arguments.json):
            down.stop(places.data)
    shutil.rmtree(places.data)
    return _removed(arguments, places, "The demo is gone:")


def _removed(arguments: argparse.Namespace, places: Places, words: str) -> int:
    said = json.dumps({"removed": str(places.data)}) if arguments.json else f"{words} {places.data}"
    sys.stdout.write(f"{said}\n")
    return 0
