"""Compile every module of an environment, and prove it. Standard library only: it runs inside the environment.

A module without valid bytecode is compiled again at each start by everyone who may not write beside it.

    python bytecode.py FOLDER    prints one JSON object; ends with 1 when a module is left without bytecode
"""

import compileall
import importlib.util
import json
import sys
from pathlib import Path


def has_bytecode(source: Path) -> bool:
    """Tell whether Python would use the cached bytecode of a module as it is."""
    cached = Path(importlib.util.cache_from_source(str(source)))
    try:
        header = cached.read_bytes()[:16]
        status = source.stat()
    except OSError:
        return False
    if len(header) < 16 or header[:4] != importlib.util.MAGIC_NUMBER:
        return False
    if int.from_bytes(header[4:8], "little") & 1:  # compiled by hash: the date does not count
        return True
    expected = (int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    return (int.from_bytes(header[8:12], "little"), int.from_bytes(header[12:16], "little")) == expected


def is_python(source: Path) -> bool:
    """Tell whether a file is a module of this Python: packages ship templates and other versions' code too."""
    try:
        compile(source.read_bytes(), str(source), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def without_bytecode(folder: Path) -> list[Path]:
    """Return the modules below a folder whose bytecode is missing or stale."""
    # A dot in a name means that no import reaches it: such files are data.
    return [path for path in sorted(folder.rglob("*.py")) if path.is_file() and not has_bytecode(path)]


def compile_all(folder: Path) -> dict[str, object]:
    """Compile what has no valid bytecode yet.

    Returns:
        `modules`: how many files there are, `compiled`: how many have valid bytecode, `not_python`: files that this
        Python cannot compile, `missing`: files that should have bytecode and have none.
    """
    for path in without_bytecode(folder):
        compileall.compile_file(path, quiet=2, force=True)
    left = without_bytecode(folder)
    missing = [str(path) for path in left if is_python(path)]
    total = sum(1 for path in folder.rglob("*.py") if path.is_file())
    return {
        "modules": total,
        "compiled": total - len(left),
        "not_python": [str(path) for path in left if str(path) not in set(missing)],
        "missing": missing,
    }


def main() -> int:
    """Compile the folder named on the command line."""
    found = compile_all(Path(sys.argv[1]))
    sys.stdout.write(json.dumps(found) + "\n")
    return 1 if found["missing"] else 0


if __name__ == "__main__":
    sys.exit(main())
