"""The lock of an environment: every distribution at one version, with the hashes of its files.

The format is pip's requirements file with hashes. One lock serves every Python from 3.11 to 3.13 (markers choose), and
names no address: where the files come from is the site's setting, what they are is not.
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bancada_images.errors import SpecError

INPUT_FILE = "requirements.in"
LOCK_FILE = "requirements.lock"
_COMPILE = (
    *("pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--quiet"),
    *(INPUT_FILE, "-o", LOCK_FILE),
)
_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)
_PINNED = re.compile(r"==\s*([^\s;*]+)\s*(?:;.*)?", re.DOTALL)
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}(?=\s|$)")


@dataclass(frozen=True)
class Lock:
    """A checked lock.

    Attributes:
        path: The lock file.
        sha256: Hash of its content.
        pins: Normalised name and version of every line; a name occurs more than once where markers differ.
    """

    path: Path
    sha256: str
    pins: tuple[tuple[str, str], ...] = ()

    def versions(self, name: str) -> frozenset[str]:
        """Return the versions that the lock has for a distribution: none, one, or one a marker."""
        return frozenset(version for pinned, version in self.pins if pinned == _normal(name))


def read_lock(folder: Path) -> Lock:
    """Read and check the lock of an image or of the server environment.

    Args:
        folder: Holds `requirements.in` and `requirements.lock`.

    Raises:
        SpecError: A line is not pinned, has no hash or names an address, or the lock does not cover the input.
    """
    path = folder / LOCK_FILE
    text = _read(path, folder)
    pins = tuple(_pin(path, number, line, folder) for number, line in _logical_lines(text))
    locked = {name for name, _ in pins}
    for _, line in _logical_lines(_read(folder / INPUT_FILE, folder)):
        match = _NAME.match(line)
        if match is None or _normal(match[1]) not in locked:
            raise SpecError(f'{path} does not cover "{line}" of {INPUT_FILE}.', fix=_refresh(folder))
    return Lock(path=path, sha256=hashlib.sha256(text.encode()).hexdigest(), pins=pins)


def refresh_lock(folder: Path, uv: Path, environment: Mapping[str, str] | None = None) -> Lock:
    """Compile `requirements.in` into `requirements.lock` again, keeping versions that still fit.

    Args:
        folder: Holds `requirements.in`.
        uv: The uv program.
        environment: Added to the process's environment: package sources (`PackageSources.host_environment`).

    Raises:
        SpecError: The requirements cannot be resolved.
    """
    # Relative names and the folder as working directory: the lock must not tell where it was made.
    done = subprocess.run(
        [str(uv), *_COMPILE],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SpecError(f"{folder / INPUT_FILE} cannot be locked:\n{done.stderr.strip()}", fix=_refresh(folder))
    return read_lock(folder)


def _read(path: Path, folder: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise SpecError(f"{path} cannot be read: {problem.strerror}.", fix=_refresh(folder)) from problem


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Join continued lines and drop comments; each with the number of its first line."""
    lines: list[tuple[int, str]] = []
    start, parts = 0, [""]
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        start = start or number
        parts.append(line.removesuffix("\\").strip())
        if not line.endswith("\\"):
            lines.append((start, " ".join(parts).strip()))
            start, parts = 0, [""]
    return [(number, line) for number, line in lines if line]


def _pin(path: Path, number: int, line: str, folder: Path) -> tuple[str, str]:
    where = f"{path}, line {number}"
    match = _NAME.match(line)
    if match is None or "://" in line:
        raise SpecError(f'{where}: "{line.split()[0]}" is not a pinned requirement.', fix=_refresh(folder))
    name, rest = match[1], match[2]
    requirement = rest.partition("--hash=")[0].strip()
    pinned = _PINNED.fullmatch(requirement)
    if pinned is None:
        raise SpecError(f"{where}: {name} is not pinned to one version.", fix=_refresh(folder))
    if _HASH.search(rest) is None:
        raise SpecError(f"{where}: {name} has no SHA-256 hash.", fix=_refresh(folder))
    return _normal(name), pinned[1]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _refresh(folder: Path) -> str:
    return f"Run: cd {folder} && uv {' '.join(_COMPILE)}"
