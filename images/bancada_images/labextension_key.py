"""Which built JavaScript belongs to which sources. Standard library only: building the distribution loads it too."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

LOCKED = ("package.json", "package-lock.json")
BUILT = Path("build") / "labextension"
"""Below the sources: a result that was built elsewhere, or for a release."""

_SOURCES = (*LOCKED, "tsconfig.json", "src", "style")
_STAMP = "sources"


def source_files(source: Path) -> Iterator[Path]:
    """Yield every file that decides the built JavaScript."""
    for name in _SOURCES:
        path = source / name
        yield from sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else (path,)


def sources_key(source: Path) -> str:
    """Return 12 hex digits that change with anything that decides the built JavaScript."""
    digest = hashlib.sha256()
    for path in source_files(source):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(source)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def stamp(built: Path, key: str) -> None:
    """Write down of which sources a folder was built."""
    (built / _STAMP).write_text(f"{key}\n", encoding="ascii")


def key_of(built: Path) -> str:
    """Return of which sources a folder was built; empty when there is none."""
    try:
        return (built / _STAMP).read_text(encoding="ascii").strip()
    except OSError:
        return ""
