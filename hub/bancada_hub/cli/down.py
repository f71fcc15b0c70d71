"""`bancada down`: stop everything of a site; its data stays."""

import argparse
import sys

from bancada_hub.cli.where import add_site_options, opened
from bancada_hub.host import connection
from bancada_hub.host.services import services_for
from bancada_hub.launch.leftovers import remove_everything


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("down", help="stop the site and everybody's servers; data stays")
    add_site_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    installation, store = opened(arguments)
    services_for(installation.facts.site_id, installation.places.site).stop()
    stopped = 0
    if installation.site.engine == "docker":
        client = connection.connect(installation.facts.engine_host)
        stopped = remove_everything(client, installation.facts.site_id, store)
    sys.stdout.write(f"Stopped the site and {stopped} servers. Data stays at {installation.places.data}\n")
    return 0
