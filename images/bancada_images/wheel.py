"""The wheel of `bancada` that environments of researchers get.

It is the distribution without the control plane: the packages `bancada_hub` and `bancada_images`, the entry points
that lead to them and their requirements are left out. So a new console page changes no image, and a notebook's
`bancada` has no noun that could not work there.
"""

import base64
import hashlib
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from bancada_images.errors import BuildError

_LEFT_OUT = ("bancada_hub", "bancada_images")
_LEFT_OUT_EXTRAS = ("hub", "test")
_ZIP_DATE = (2024, 1, 1, 0, 0, 0)
_EPOCH = "1704067200"
_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "extensions/bancada", "notebooks")
_LABEXTENSIONS = "data/share/jupyter/labextensions/@bancada/lab"


def checkout_folder() -> Path | None:
    """Return the checkout that this installation runs from; None when it was installed from a wheel."""
    candidate = Path(__file__).resolve().parents[2]
    return candidate if (candidate / "pyproject.toml").is_file() else None


def build_wheel(checkout: Path | None, out: Path) -> Path:
    """Build the wheel, or return the one that was built from the same sources.

    Args:
        checkout: Sources; None packs the installed distribution again.
        out: Folder for it; each state of the sources has a folder of its own there.

    Raises:
        BuildError: The build failed.
    """
    key = _fingerprint(checkout) if checkout else _installed_fingerprint()
    folder = out / f"wheel-{key[:12]}"
    done = sorted(folder.glob("*.whl"))
    if done:
        return done[0]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=out) as name:
        content = _built(checkout, Path(name)) if checkout else _installed()
        version = next(path for path in content if path.endswith(".dist-info/METADATA")).split(".dist-info")[0]
        partial = Path(name) / f"{version}-py3-none-any.whl"
        _write(_slim(content), partial)
        folder.mkdir(exist_ok=True)
        return partial.rename(folder / partial.name)


def build_server_wheel(wheel: Path, labextension: Path, out: Path) -> Path:
    """Return the wheel that server environments get: with JupyterLab's part, which work environments do not need.

    So a change of JavaScript makes new server environments, and no new image.

    Args:
        wheel: The wheel of `bancada`.
        labextension: The folder of the built extension.
        out: Folder for it.
    """
    content = _read(wheel)
    record = next(path for path in content if path.endswith(".dist-info/RECORD"))
    data = record.replace(".dist-info/RECORD", ".data")
    for path in _files(labextension):
        content[f"{data}/{_LABEXTENSIONS}/{path.relative_to(labextension).as_posix()}"] = path.read_bytes()
    folder = out / f"server-wheel-{_hash_of_content(content)[:12]}"
    done = folder / wheel.name
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{wheel.name}.partial"
        _write({path: value for path, value in content.items() if path != record}, partial)
        partial.rename(done)
    return done


def wheel_hash(wheel: Path) -> str:
    """Return the SHA-256 of a wheel's content: the same for the same files, however they were compressed."""
    return _hash_of_content(_read(wheel))


def _hash_of_content(content: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for path, data in sorted(content.items()):
        digest.update(f"{path}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _built(checkout: Path, folder: Path) -> dict[str, bytes]:
    # No isolation: the build backend is the installed one, so nothing is downloaded and the result is the same.
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=checkout,
        env={**os.environ, "SOURCE_DATE_EPOCH": _EPOCH},
        capture_output=True,
        text=True,
        check=False,
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise BuildError(
            f"The wheel of bancada could not be built from {checkout}:\n{(done.stderr or done.stdout).strip()[-2000:]}",
            fix="Check that the checkout is complete (git status), then run the same command again.",
        )
    return _read(wheels[0])


def _installed() -> dict[str, bytes]:
    """Read the installed distribution's files as a wheel would hold them."""
    distribution = importlib.metadata.distribution("bancada")
    own = {"INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json"}
    content = {}
    for path in distribution.files or ():
        made_here = path.suffix == ".pyc" or (path.parent.name.endswith(".dist-info") and path.name in own)
        if path.parts[0] != ".." and not made_here:
            content[path.as_posix()] = Path(str(path.locate())).read_bytes()
    return content


def _slim(content: dict[str, bytes]) -> dict[str, bytes]:
    slim = {}
    for path, data in content.items():
        if path.split("/")[0] in _LEFT_OUT or path.endswith(".dist-info/RECORD"):
            continue
        if path.endswith(".dist-info/METADATA"):
            slim[path] = _without_hub(data.decode()).encode()
        elif path.endswith(".dist-info/entry_points.txt"):
            slim[path] = _entry_points(data.decode()).encode()
        else:
            slim[path] = data
    return slim


def _without_hub(metadata: str) -> str:
    """Drop the description and what only the left-out packages need from METADATA."""
    headers = metadata.split("\n\n", 1)[0].splitlines()
    gone = [f"Provides-Extra: {extra}" for extra in _LEFT_OUT_EXTRAS]
    marks = [f"extra == {quote}{extra}{quote}" for extra in _LEFT_OUT_EXTRAS for quote in "'\""]
    kept = [line for line in headers if line not in gone and not any(mark in line for mark in marks)]
    return "\n".join(line for line in kept if not line.startswith("Description-Content-Type")) + "\n"


def _entry_points(text: str) -> str:
    """Drop the entry points of left-out packages, and sections that have none left."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("["):
            name = line
        elif line.strip() and not any(f"{package}." in line for package in _LEFT_OUT):
            sections.setdefault(name, []).append(line)
    return "\n".join("\n".join((section, *lines, "")) for section, lines in sections.items())


def _write(content: dict[str, bytes], wheel: Path) -> None:
    record = next(path for path in content if path.endswith(".dist-info/METADATA")).replace("METADATA", "RECORD")
    lines = []
    for path, data in sorted(content.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    lines.append(f"{record},,\n")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in [*sorted(content.items()), (record, "".join(lines).encode())]:
            entry = zipfile.ZipInfo(path, _ZIP_DATE)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def _read(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def _fingerprint(checkout: Path) -> str:
    return _hash_of((str(path.relative_to(checkout)), path) for name in _SOURCES for path in _files(checkout / name))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    ignored = {"__pycache__", "node_modules"}
    return sorted(
        file for file in path.rglob("*") if file.is_file() and not ignored & set(file.parts) and file.suffix != ".pyc"
    )


def _installed_fingerprint() -> str:
    distribution = importlib.metadata.distribution("bancada")
    files = [path for path in distribution.files or () if path.parts[0] != ".." and path.suffix != ".pyc"]
    return _hash_of((path.as_posix(), Path(str(path.locate()))) for path in sorted(files))


def _hash_of(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, path in files:
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
