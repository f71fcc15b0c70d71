"""The command `bancada NOUN …`: finds its nouns, runs one, and turns what goes wrong into a sentence.

A noun is an entry point in the group `bancada.nouns`: a function `register(subparsers)` that adds a parser and sets
its default `run`, a callable that takes the parsed arguments and returns an exit status. Only the noun that is asked
for is imported, so that `bancada health` in a notebook does not wait for the control plane's libraries. Nouns whose
extra is not installed are left out of the help, and say so when they are asked for.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from bancada import __version__
from bancada.errors import BancadaError

GROUP = "bancada.nouns"
STOPPED = "Stopped. Run the same command again to go on."
DEBUG_VARIABLE = "BANCADA_DEBUG"
OWN_PACKAGES = ("bancada", "bancada_hub", "bancada_images")

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - its only name
Register: TypeAlias = Callable[[Subparsers], None]


class MissingExtraError(BancadaError):
    """A noun was asked for whose libraries are not installed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        arguments: What follows `bancada`; the process's own by default.

    Returns:
        The exit status: the noun's own, 1 for an error that was shown, 130 after Ctrl-C.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        nouns = {noun.name: noun for noun in entry_points(group=GROUP)}
        parser = build_parser(load(nouns, given))
        parsed = parser.parse_args(given)
        run: Callable[[argparse.Namespace], int] = parsed.run
        return run(parsed)
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{STOPPED}\n")
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `bancada logs | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # the one place where anything at all becomes a sentence
        if os.environ.get(DEBUG_VARIABLE) == "1":
            raise
        sys.stderr.write(describe(error, given))
        return 1


def build_parser(registers: Sequence[Register]) -> argparse.ArgumentParser:
    """Return a parser that knows these nouns."""
    parser = argparse.ArgumentParser(
        prog="bancada",
        description="A research workbench on your own server: notebooks in containers, from validated images.",
    )
    parser.add_argument("--version", action="version", version=f"bancada {__version__}")
    subparsers = parser.add_subparsers(dest="noun", metavar="NOUN", required=True)
    for register in registers:
        register(subparsers)
    return parser


def load(nouns: Mapping[str, EntryPoint], arguments: Sequence[str]) -> list[Register]:
    """Import the noun that is asked for, or every noun that can be imported when none is.

    Args:
        nouns: The installed nouns by name.
        arguments: The command line.

    Raises:
        MissingExtraError: The noun that is asked for needs libraries that are not installed.
    """
    asked = next((argument for argument in arguments if not argument.startswith("-")), "")
    if asked in nouns:
        noun = nouns[asked]
        try:
            return [noun.load()]
        except ModuleNotFoundError as error:
            if is_own(error):
                raise
            raise MissingExtraError(
                f"`bancada {asked}` needs the Python module {error.name}, which is not installed.",
                fix=f"pip install 'bancada[{extra_of(noun)}]'",
            ) from error
    if not asked and "--version" in arguments:
        return []
    return [register for noun in nouns.values() if (register := load_if_installed(noun)) is not None]


def load_if_installed(noun: EntryPoint) -> Register | None:
    """Import a noun, or return None when its extra is not installed."""
    try:
        register: Register = noun.load()
    except ModuleNotFoundError as error:
        if is_own(error):
            raise
        return None
    return register


def is_own(error: ModuleNotFoundError) -> bool:
    """Say whether the missing module is one of Bancada's own: then the installation is broken, no extra is missing."""
    return (error.name or "").partition(".")[0] in OWN_PACKAGES


def extra_of(noun: EntryPoint) -> str:
    """Return the extra that brings a noun's libraries."""
    return "lab" if noun.module.partition(".")[0] == "bancada" else "hub"


def describe(error: Exception, arguments: Sequence[str]) -> str:
    """Return what a person reads about an error: what went wrong, and on the next line what to do."""
    if isinstance(error, BancadaError):
        return f"error: {error.what}\n" + (f"{error.fix}\n" if error.fix else "")
    command = " ".join(["bancada", *arguments])
    return (
        f"error: Bancada itself failed: {type(error).__name__}: {error}\n"
        f"Run it again with the details, and report them: {DEBUG_VARIABLE}=1 {command}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
