"""Making directories as root below one that is trusted, without ever following a link on the way.

Parents belong to root; only the last directory of a path is a person's. Each step goes through the descriptor of the
one before, so that nothing can be swapped in between. What exists with another owner is reported, never changed: it
may be somebody's data.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bancada_hub.errors import HostError, told

PARENT_MODE = 0o711
"""People pass through, and see no names."""


@dataclass(frozen=True)
class Owner:
    """Who a directory belongs to, and its mode."""

    uid: int
    gid: int
    mode: int


@contextmanager
def open_directory(base: Path, path: Path, owner: Owner) -> Iterator[int]:
    """Make a directory and what is missing above it, and open it.

    Without root nothing is given away: everything belongs to the account that runs this.

    Args:
        base: A trusted directory that exists.
        path: The directory, below it.
        owner: Whose it is to be.

    Yields:
        Its descriptor.

    Raises:
        HostError: Something on the way is a link or no directory, or the directory belongs to somebody else.
    """
    *parents, last = path.relative_to(base).parts
    current = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    reached = base
    try:
        for name in parents:
            reached /= name
            step = _enter(current, name, reached, Owner(0, 0, PARENT_MODE))
            os.close(current)
            current = step
        step = _enter(current, last, path, owner)
        os.close(current)
        current = step
        yield current
    finally:
        os.close(current)


def ensure_directory(base: Path, path: Path, owner: Owner) -> None:
    """Make a directory, as `open_directory` does."""
    with open_directory(base, path, owner):
        pass


def _enter(parent: int, name: str, path: Path, owner: Owner) -> int:
    owner = owner if os.geteuid() == 0 else Owner(os.geteuid(), os.getegid(), owner.mode)
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
        made = True
    except FileExistsError:
        made = False
    try:
        found = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENOTDIR}:
            raise
        raise _no_directory(path) from None
    try:
        if made:
            os.fchown(found, owner.uid, owner.gid)
            os.fchmod(found, owner.mode)
        else:
            _check_owner(os.fstat(found), path, owner)
    except BaseException:
        os.close(found)
        raise
    return found


def _no_directory(path: Path) -> HostError:
    kind = told("a symbolic link") if path.is_symlink() else told("not a directory")
    return HostError(
        told("%(path)s is %(kind)s; Bancada keeps a directory there.", path=path, kind=kind),
        fix=told("Look at it, then move it away: %(path)s", path=path),
    )


def _check_owner(found: os.stat_result, path: Path, owner: Owner) -> None:
    if found.st_uid == owner.uid:
        return
    words = {"path": path, "found": found.st_uid, "uid": owner.uid, "gid": owner.gid}
    msg = told("%(path)s belongs to uid %(found)s; it must belong to uid %(uid)s.", **words)
    fix = told("If it is theirs, run: chown -R --no-dereference %(uid)s:%(gid)s %(path)s", **words)
    raise HostError(msg, fix=fix)
