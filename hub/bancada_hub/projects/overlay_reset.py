"""Throwing an overlay away: back to the work environment as it was published.

The folders are renamed aside at once, in the transaction that knows no server holds them, and deleted afterwards; a
deletion that was cut short is finished by `sweep`.
"""

import os
import secrets
import shutil
import threading
from pathlib import Path

from bancada_hub.errors import HostError, told
from bancada_hub.places import Places
from bancada_hub.store.database import Store
from bancada_hub.store.overlays import OverlayKey, holder

ASIDE = ".aside-"


def reset_overlay(store: Store, places: Places, key: OverlayKey, uid: int) -> bool:
    """Throw away what a person changed in a base.

    Args:
        store: The database.
        places: The site's paths.
        key: The overlay.
        uid: The person's uid.

    Returns:
        Whether there was anything.

    Raises:
        HostError: A running server has it mounted.
    """
    folder = places.overlay(key.project_id, uid, key.base)
    aside = folder.with_name(f"{ASIDE}{secrets.token_hex(6)}")
    with store.write() as session:  # no server can begin to hold it until this transaction ends
        if holder(session, key) is not None:
            msg = told("The environment is in use: a server of yours runs on it.")
            raise HostError(msg, fix=told("Stop the server, then reset."))
        if not _move_aside(folder, aside):
            return False
    threading.Thread(target=shutil.rmtree, args=(aside, True), name="reset-overlay").start()
    return True


def sweep(places: Places) -> int:
    """Delete what earlier resets moved aside and could not delete; returns how many there were."""
    left = list((places.fs / "projects").glob(f"*/overlays/*/{ASIDE}*"))
    for folder in left:
        shutil.rmtree(folder, ignore_errors=True)
    return len(left)


def _move_aside(folder: Path, aside: Path) -> bool:
    # The parent is root's, so neither name can be a link that a person put there.
    parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if folder.parent.is_dir() else None
    if parent is None:
        return False
    try:
        os.rename(folder.name, aside.name, src_dir_fd=parent, dst_dir_fd=parent)
        os.fsync(parent)
    except FileNotFoundError:
        return False
    finally:
        os.close(parent)
    return True
