"""Make the locks again: those of `.venv` here, and `requirements.lock` beside each `requirements.in` under images/.

`python requirements/refresh.py` adds what is missing and keeps every version that still fits; `--upgrade` moves all
of them to the newest; names of locks (`bancada`, `server`, `catalog/minimal`) limit it to those. README.md says more.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# One lock for every supported system and Python; hashes, and no address of whoever refreshed it.
OPTIONS = ("--universal", "--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--quiet")
PYTHON = "3.11"


@dataclass(frozen=True)
class Lock:
    """One lock file and what it is made from.

    Args:
        name: What it is called on the command line.
        output: The lock file.
        sources: What uv reads, in order: options and paths relative to the checkout.
        python: The oldest Python that it must fit.
    """

    name: str
    output: Path
    sources: tuple[str, ...]
    python: str = PYTHON


def locks() -> list[Lock]:
    """Return every lock in the order in which they are made: later ones take versions from earlier ones."""
    build = "requirements/build.in"
    constraint = ("--constraint", "requirements/bancada.txt")
    found = [
        Lock("bancada", HERE / "bancada.txt", ("--extra", "hub", "pyproject.toml", build)),
        Lock("test", HERE / "test.txt", ("--extra", "test", *constraint, "pyproject.toml", build)),
        Lock("bootstrap", HERE / "bootstrap.txt", (*constraint, "requirements/bootstrap.in")),
    ]
    images = ROOT / "images"
    for source in sorted([*images.glob("catalog/*/requirements.in"), images / "server" / "requirements.in"]):
        if source.is_file():
            name = source.parent.relative_to(images).as_posix()
            # The hub and the servers that it starts must have one version of what both import.
            also = constraint if name == "server" else ()
            lock = source.with_name("requirements.lock")
            found.append(Lock(name, lock, (*also, source.relative_to(ROOT).as_posix())))
    return found


def make(lock: Lock, *, upgrade: bool) -> None:
    """Write one lock with uv, which keeps the versions already in it unless it is told to upgrade."""
    command = [sys.executable, "-m", "uv", "pip", "compile", *OPTIONS, "--python-version", lock.python]
    command += ["--upgrade"] if upgrade else []
    subprocess.run([*command, "--output-file", str(lock.output), *lock.sources], cwd=ROOT, check=True)
    refuse_addresses(lock.output)


def refuse_addresses(lock: Path) -> None:
    """Stop when a lock names where its packages came from.

    Raises:
        SystemExit: A line of the lock has an address.
    """
    for number, line in enumerate(lock.read_text(encoding="utf-8").splitlines(), 1):
        if "://" in line or line.startswith(("-i ", "--index", "--extra-index", "--find-links")):
            sys.exit(f"error: {lock}:{number} names an address: {line}\nRemove it from the sources of this lock.")


def main(arguments: Sequence[str]) -> int:
    """Make the locks that are named, or all of them."""
    known = locks()
    parser = argparse.ArgumentParser(prog="refresh.py", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that fit")
    parser.add_argument("names", nargs="*", metavar="LOCK", help=f"one of: {', '.join(lock.name for lock in known)}")
    given = parser.parse_args(arguments)
    unknown = set(given.names) - {lock.name for lock in known}
    if unknown:
        parser.error(f"no lock is called {', '.join(sorted(unknown))}")
    for lock in known:
        if not given.names or lock.name in given.names:
            sys.stdout.write(f"{lock.output.relative_to(ROOT)}\n")
            make(lock, upgrade=given.upgrade)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
