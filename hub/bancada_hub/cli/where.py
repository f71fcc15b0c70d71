"""Options that every noun of a site shares: which site, and how to answer questions."""

import argparse
import os
import sys
from pathlib import Path

from bancada_hub.installation import Installation, read_installation
from bancada_hub.site import default_data_directory
from bancada_hub.store.database import Store, open_store


def add_site_options(parser: argparse.ArgumentParser) -> None:
    """Add `--data DIR`."""
    parser.add_argument(
        "--data",
        type=lambda text: Path(text).absolute(),
        default=default_data_directory(),
        metavar="DIR",
        help="the site's data directory (or BANCADA_DATA; now %(default)s)",
    )


def add_port_option(parser: argparse.ArgumentParser) -> None:
    """Add `--port N`."""
    parser.add_argument(
        "--port",
        type=int,
        default=os.environ.get("BANCADA_PORT"),
        metavar="N",
        help="the port of the pages (or BANCADA_PORT); the four above it serve inside the machine",
    )


def add_yes_option(parser: argparse.ArgumentParser) -> None:
    """Add `--yes`."""
    parser.add_argument("--yes", action="store_true", help="agree to installing Debian packages without being asked")


def ask(question: str) -> bool:
    """Ask a person on the terminal; no terminal means no."""
    if not sys.stdin.isatty():
        return False
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}


def opened(arguments: argparse.Namespace) -> tuple[Installation, Store]:
    """Return the site that the options name, and its database."""
    installation = read_installation(arguments.data)
    return installation, open_store(installation.site, installation.places)
