"""Writing a file whole or not at all: temporary file in the same folder, fsync, rename, fsync of the folder.

A disk that fills up, a power cut or a killed process leaves the file that was there, never half of a new one.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT}
_PREFIX = ".~"
_LONGEST_STEM = 200


class DiskFullError(OSError):
    """There is no room for the new content; the file has the content that it had."""


def write_whole(path: Path, content: bytes) -> None:
    """Replace the content of a file, or make the file.

    A link is followed and stays a link. Mode, group and access control lists of an existing file stay; its owner does
    where the system lets this account keep it.

    Args:
        path: The file.
        content: All of its new content.

    Raises:
        DiskFullError: There is no room, on the disk or in the quota.
        PermissionError: This account may not write the file.
        OSError: Whatever else the system refuses.
    """
    target = Path(os.path.realpath(path))
    with _full_is_named(target):
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
        if target.exists() and not os.access(target.parent, os.W_OK):
            _write_in_place(target, content)
        else:
            _replace(target, content)


def is_full(error: OSError) -> bool:
    """Say whether an error means that disk or quota is full."""
    return error.errno in _FULL


@contextmanager
def _full_is_named(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFullError(error.errno, error.strerror, str(target)) from error


def _replace(target: Path, content: bytes) -> None:
    try:
        old = target.stat()
    except FileNotFoundError:
        old = None
    partial = target.with_name(f"{_PREFIX}{target.name[:_LONGEST_STEM]}.{secrets.token_hex(4)}")
    # 0666: for a new file the umask, or the folder's default ACL, decides.
    mode = stat.S_IMODE(old.st_mode) & 0o666 if old else 0o666
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        try:
            _write_all(descriptor, content)
            if old:
                _keep_attributes(target, old, descriptor)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _write_in_place(target: Path, content: bytes) -> None:
    """Write a file in a folder where no other file can be made; room is reserved before a byte changes."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CLOEXEC)
    try:
        if content:
            os.posix_fallocate(descriptor, 0, len(content))
        _write_all(descriptor, content)
        os.ftruncate(descriptor, len(content))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _keep_attributes(target: Path, old: os.stat_result, descriptor: int) -> None:
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        # Only root can give a file away; the group can be kept by its members.
        for owner, group in ((old.st_uid, old.st_gid), (-1, old.st_gid)):
            with suppress(PermissionError):
                os.fchown(descriptor, owner, group)
                break
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    for name in _attributes(target):
        with suppress(OSError):  # one that this account may read and not set, such as security.*
            os.setxattr(descriptor, name, os.getxattr(target, name))


def _attributes(target: Path) -> list[str]:
    try:
        return os.listxattr(target)
    except OSError:  # a file system without them
        return []


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
