"""The first start after a boot as fast as the next: the kernel is asked to read what a server imports, ahead of it.

A start reads some thousand small files of the server environment; from a cold disk that is most of its time. Only
compiled modules and libraries are asked for: what JupyterLab sends to browsers is read when somebody asks for it. What
is in memory already costs nothing but the asking, and the kernel drops it again when servers need the memory.
"""

import logging
import os
import threading
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from bancada_hub.launch.context import LaunchContext
from bancada_hub.store.catalog import published_revisions

log = logging.getLogger("bancada.warm")


def warm_in_background(context: LaunchContext) -> threading.Thread:
    """Warm the server environments of all published images, beside the hub's own start.

    Args:
        context: The site.
    """
    thread = threading.Thread(target=_warm_published, args=(context,), name="warm", daemon=True)
    thread.start()
    return thread


def warm(tree: Path) -> int:
    """Ask the kernel to read the compiled modules and libraries below a folder; returns how many bytes they are."""
    return sum(_ask(path) for path in tree.rglob("*") if path.suffix in (".pyc", ".so") or ".so." in path.name)


def _warm_published(context: LaunchContext) -> None:
    try:
        with context.store.read() as session:
            names = {revision.built.server_environment for revision in published_revisions(session)}
        for tree in (context.places.lowers / name for name in sorted(names)):
            log.info("Read ahead: %.0f MiB of %s", warm(tree) / 1024**2, tree)
    except (OSError, SQLAlchemyError) as error:  # starts are then as they would be without this
        log.warning("The server environments were not read ahead: %s", error)


def _ask(path: Path) -> int:
    if path.is_symlink() or not path.is_file():
        return 0
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)
        return os.fstat(file).st_size
    finally:
        os.close(file)
