"""What the nouns of people, labs and projects print: rows for people, JSON for programs."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bancada_hub.cli.where import add_site_options


def add_verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    words: str,
    run: Any,  # noqa: ANN401
) -> argparse.ArgumentParser:
    """Add a verb of a noun, with the options that all of them have.

    Args:
        verbs: The noun's.
        name: The verb.
        words: What it does, for the help.
        run: Takes the parsed arguments and returns an exit status.
    """
    verb = verbs.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
    add_site_options(verb)
    verb.add_argument("--json", action="store_true", help="for programs")
    verb.set_defaults(run=run)
    return verb


def say(arguments: argparse.Namespace, value: Any, words: str) -> int:  # noqa: ANN401 - any JSON
    """Print a value for programs, or words for people; returns the exit status."""
    sys.stdout.write(f"{json.dumps(value) if arguments.json else words}\n")
    return 0


def rows(columns: Sequence[str], cells: Sequence[Sequence[object]]) -> str:
    """Return a table as text, each column as wide as its widest cell."""
    table = [list(columns), *([str(cell) for cell in row] for row in cells)]
    widths = [max(len(row[place]) for row in table) for place in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
    )


def moment(at: datetime | None) -> str | None:
    """Return an instant as JSON has it (RFC 3339, UTC)."""
    return at.isoformat(timespec="seconds") if at else None
