"""Lay a folder of an image out on the host, as the read-only lower directory of overlays.

Owner, group, modes, hard links and dates stay as they are in the image. The result appears complete or not at all: it
is unpacked beside its place and renamed. An index beside it (`<target>.json`) says what must be there, so that a
missing or changed file is noticed before a server starts. Symbolic links are recorded, never followed.
"""

import contextlib
import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import DockerException
from docker.models.containers import Container

from bancada_images.errors import BuildError
from bancada_images.progress import Progress

_SHOWN = 20
_SAY_EVERY_BYTES = 64 << 20


@dataclass(frozen=True)
class Layout:
    """A folder that is laid out on the host.

    Attributes:
        path: Where it lies.
        files: How many regular files it has; a hard link counts.
        bytes: What their content takes, each hard-linked file once.
        fingerprint: SHA-256 over path, type, mode, owner, group, size, date, link target and hard-link group of all.
    """

    path: Path
    files: int
    bytes: int
    fingerprint: str


def lay_out(client: docker.DockerClient, image_id: str, source: str, target: Path, say: Progress) -> Layout:
    """Lay a folder of an image out, or return what is there already.

    Args:
        client: The engine.
        image_id: The image's id; it is never started.
        source: The folder in the image, such as "/opt/env".
        target: The folder to make; its parent is made if missing.
        say: Told what has arrived.

    Raises:
        BuildError: The image has no such folder, or it could not be unpacked.
    """
    done = read_layout(target)
    if done is not None:
        say(f"{target.name}: already laid out", 1.0)
        return done
    try:
        # An image from a tar stream may have no command, and the engine wants one even for what never runs.
        container = client.containers.create(image_id, command=["true"], labels={"bancada.layout": "1"})
    except DockerException as problem:
        raise BuildError(
            f"The image {image_id} cannot be laid out: {getattr(problem, 'explanation', None) or problem}.",
            fix="Run: ./bancada up",
        ) from problem
    try:
        return lay_out_container(container, source, target, say)
    finally:
        container.remove(force=True, v=True)


def lay_out_container(container: Container, source: str, target: Path, say: Progress) -> Layout:
    """Lay a folder of a container out at a place where nothing is yet.

    Args:
        container: Running or not.
        source: The folder in the container.
        target: The folder to make.
        say: Told what has arrived.

    Raises:
        BuildError: The container has no such folder, or it could not be unpacked.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_remains(target)
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
    partial.mkdir(mode=0o755)
    try:
        try:
            stream, _ = container.get_archive(source)
        except DockerException as problem:
            text = getattr(problem, "explanation", None) or problem
            raise BuildError(f"{source} cannot be read from the image: {text}.", fix="Run: ./bancada up") from problem
        _unpack(stream, partial, target.name, say)
        tree = partial / Path(source).name  # unpacked with its own folder, whose owner and mode count too
        # Its parts must be on disk before its name says that they are.
        subprocess.run(["sync", "-f", str(partial)], check=True)
        entries = dict(_entries(tree))
        layout = _summary(target, entries)
        _write_index(layout, entries)
        tree.rename(target)
        partial.rmdir()
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    say(f"{target.name}: {layout.files} files, {layout.bytes / 2**30:.2f} GiB laid out", 1.0)
    return layout


def read_layout(target: Path) -> Layout | None:
    """Return what is laid out at a place, without looking at its files; None when nothing complete is there."""
    if not target.is_dir():
        return None
    try:
        index = json.loads(_index_of(target).read_text(encoding="utf-8"))
        return Layout(target, int(index["files"]), int(index["bytes"]), str(index["fingerprint"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def verify_layout(target: Path) -> list[str]:
    """Compare a laid-out folder with its index, by `stat` alone.

    Returns:
        What differs, a line each, at most 20 and then a count; empty when nothing does.
    """
    if not target.is_dir():
        return [f"{target} is missing"]
    try:
        expected = json.loads(_index_of(target).read_text(encoding="utf-8"))["entries"]
    except (OSError, ValueError, KeyError, TypeError):
        return [f"{_index_of(target)} is missing or cannot be read"]
    found = dict(_entries(target))
    differences = [f"{path} is missing" for path in expected if path not in found]
    differences += [f"{path} was added" for path in found if path not in expected]
    differences += [f"{path} was changed" for path, entry in found.items() if expected.get(path, entry) != entry]
    differences.sort()
    more = len(differences) - _SHOWN
    return [*differences[:_SHOWN], f"and {more} more"] if more > 0 else differences


def remove_layout(target: Path) -> None:
    """Remove a laid-out folder and its index; the index first, so that no part is taken for the whole."""
    _index_of(target).unlink(missing_ok=True)
    if target.is_dir():
        doomed = target.with_name(f"{target.name}.partial-{os.getpid()}")
        target.rename(doomed)
        shutil.rmtree(doomed)


def _unpack(stream: Iterable[bytes], folder: Path, name: str, say: Progress) -> None:
    command = [
        "tar",
        "-x",
        "-p",
        "--numeric-owner",
        "--same-owner",
        "-C",
        str(folder),
        "-f",
        "-",
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None  # noqa: S101 - Popen was asked for both pipes
    assert process.stderr is not None  # noqa: S101 - the same
    arrived_bytes, next_bytes = 0, 0
    try:
        with contextlib.suppress(BrokenPipeError):  # tar ended early: its message says why
            for chunk in stream:
                process.stdin.write(chunk)
                arrived_bytes += len(chunk)
                if arrived_bytes >= next_bytes:
                    say(f"{name}: {arrived_bytes / 2**30:.2f} GiB laid out")
                    next_bytes = arrived_bytes + _SAY_EVERY_BYTES
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        message = process.stderr.read().decode(errors="replace").strip()
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        process.stderr.close()
    if process.returncode != 0:
        raise BuildError(
            f"{folder.parent} could not take the files of {name}: {message[-500:]}.",
            fix="Check the free space and that the data directory is on a local Linux file system.",
        )


def _entries(folder: Path) -> Iterator[tuple[str, list[object]]]:
    """Yield path and properties of all that is below a folder, and of the folder itself, in order."""
    first_of: dict[tuple[int, int], str] = {}
    for path in sorted(_walk(folder)):
        full = folder / path
        status = full.lstat()
        kind = stat.S_IFMT(status.st_mode)
        is_file = kind == stat.S_IFREG
        twin = ""
        if is_file and status.st_nlink > 1:
            twin = first_of.setdefault((status.st_dev, status.st_ino), path)
        yield (
            path,
            [
                status.st_mode,
                status.st_uid,
                status.st_gid,
                status.st_size if is_file else 0,  # a directory's size is its file system's matter
                int(status.st_mtime),
                str(full.readlink()) if kind == stat.S_IFLNK else "",
                twin,
            ],
        )


def _walk(folder: Path) -> Iterator[str]:
    yield "."
    pending = [""]
    while pending:
        prefix = pending.pop()
        with os.scandir(folder / prefix) as found:
            for entry in found:
                path = f"{prefix}{entry.name}"
                yield path
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{path}/")


def _summary(target: Path, entries: dict[str, list[object]]) -> Layout:
    digest, files, size_bytes = hashlib.sha256(), 0, 0
    for path, entry in entries.items():
        digest.update(json.dumps([path, *entry]).encode() + b"\n")
        if stat.S_ISREG(int(str(entry[0]))):
            files += 1
            size_bytes += int(str(entry[3])) if entry[6] in ("", path) else 0
    return Layout(target, files, size_bytes, digest.hexdigest())


def _write_index(layout: Layout, entries: dict[str, list[object]]) -> None:
    index = _index_of(layout.path)
    content = {"files": layout.files, "bytes": layout.bytes, "fingerprint": layout.fingerprint, "entries": entries}
    partial = index.with_name(f"{index.name}.partial-{os.getpid()}")
    with partial.open("w", encoding="utf-8") as file:
        json.dump(content, file, separators=(",", ":"))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(index)


def _index_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.json")


def _remove_remains(target: Path) -> None:
    """Remove what an interrupted layout of the same place left, unless its process still runs."""
    for remains in target.parent.glob(f"{target.name}.*partial-*"):
        pid = remains.name.rpartition("-")[2]
        if pid != str(os.getpid()) and Path(f"/proc/{pid}").exists():
            continue
        if remains.is_dir() and not remains.is_symlink():
            shutil.rmtree(remains)
        else:
            remains.unlink()
    if target.is_dir():  # without an index: nobody knows what it is
        shutil.rmtree(target)
