"""The folders of a server, made with owner and mode before it starts.

Root never follows a link here (`directories`); a folder that exists with another owner stops the start with a message
that names it. An engine that finds a folder missing would make it itself, as root's, and the person could not write.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from bancada.contract import ENVIRONMENT_GID
from bancada_hub.places import Places
from bancada_hub.projects.acl import share_with_group
from bancada_hub.projects.directories import Owner, ensure_directory, open_directory
from bancada_hub.projects.identities import Identity, write_identity


@dataclass(frozen=True)
class Tenant:
    """A person at work in a project: whose folders are made.

    Args:
        identity: Names and numbers of person and project.
        project_id: The project's number.
        base: The overlay's base; None where no overlay is mounted.
    """

    identity: Identity
    project_id: int
    base: str | None


def prepare_folders(places: Places, tenant: Tenant) -> None:
    """Make everything that a server of this person in this project is to find; what is there stays as it is.

    Raises:
        HostError: A folder belongs to somebody else, is a link, or its file system cannot share.
    """
    uid = tenant.identity.uid
    # Group root: nobody has it in a server, so that a home opened to its group is still open to nobody.
    ensure_directory(places.data, places.home(uid), Owner(uid, 0, 0o700))
    ensure_directory(places.data, places.state(uid), Owner(uid, 0, 0o700))
    share_project(places, tenant.project_id, tenant.identity.gid)
    for shared in (places.datasets, places.examples):
        ensure_directory(places.data, shared, Owner(0, 0, 0o755))
    if tenant.base is not None:
        prepare_overlay(places.data, places.overlay(tenant.project_id, uid, tenant.base), uid)
    write_identity(places, places.identities / f"{uid}-{tenant.project_id}", tenant.identity)


def share_project(places: Places, project_id: int, gid: int) -> None:
    """Make a project's files folder: its members write there, and nobody else looks in.

    The setgid bit keeps new files in the project's group, a default ACL lets the group write them.
    """
    path = places.project_files(project_id)
    with open_directory(places.data, path, Owner(0, gid, 0o2770)) as directory:
        if os.geteuid() == 0:
            os.fchown(directory, 0, gid)
        os.fchmod(directory, 0o2770)  # after the chown, which takes the setgid bit away
        share_with_group(directory, str(path))


def prepare_overlay(base: Path, folder: Path, uid: int) -> None:
    """Make the two directories of an overlay, which belong to the person: overlayfs shows the upper one's owner."""
    for name in ("upper", "work"):
        ensure_directory(base, folder / name, Owner(uid, ENVIRONMENT_GID, 0o2775))
