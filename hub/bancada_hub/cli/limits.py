"""Options for limits of labs and projects, and how they are printed."""

import argparse
from typing import Any, TypeVar

from bancada_hub.amounts import Bytes, Cores
from bancada_hub.store import labs, projects

NONE = "none"
KEPT = object()
"""What an option is that nobody typed: the limit stays as it is."""

Limit = TypeVar("Limit")


def add_limit_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of the two limits."""
    for option, words in (
        ("--max-memory-gib", "the most memory that its servers may hold together, in GiB, or “none”"),
        ("--max-cpus", "the most CPU that its servers may hold together, in cores, or “none”"),
    ):
        verb.add_argument(option, type=limit, default=KEPT, metavar="NUMBER|none", help=words)


def limit(text: str) -> float | None:
    """Read an option of a limit.

    Raises:
        ValueError: It is neither a number nor `none`; argparse says so.
    """
    return None if text == NONE else float(text)


def chosen(given: Any, before: Limit) -> Any:  # noqa: ANN401 - an option: a number, None, or KEPT
    """Return what an option means, when the limit was `before`."""
    return before if given is KEPT else given


def limits_model(limited: labs.Lab | projects.Project) -> dict[str, Any]:
    """Return limits for programs."""
    return {"max_memory_bytes": limited.max_memory_bytes, "max_cpus": limited.max_cpus}


def limits_words(limited: labs.Lab | projects.Project) -> str:
    """Return limits for people."""
    memory = "no limit" if limited.max_memory_bytes is None else f"{Bytes(limited.max_memory_bytes)}"
    cpus = "no limit" if limited.max_cpus is None else f"{Cores(limited.max_cpus)} cores"
    return f"memory of its servers: {memory}; CPU: {cpus}"
