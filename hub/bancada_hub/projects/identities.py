"""passwd, group and git configuration of servers: generated, bound read-only, so that tools know who they run as."""

import os
from dataclasses import dataclass
from pathlib import Path

from bancada.contract import ENVIRONMENT_GID
from bancada_hub.places import Places

_GITCONFIG = """\
# Written by Bancada. A project's repositories belong to whoever made them: git would refuse them to everybody else.
[safe]
\tdirectory = *
"""


@dataclass(frozen=True)
class Identity:
    """A person at work in a project."""

    user: str
    uid: int
    project: str
    gid: int


def passwd(identity: Identity) -> str:
    """Return the text of /etc/passwd."""
    rows = (
        "root:x:0:0:root:/root:/bin/bash",
        "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin",
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
        f"{identity.user}:x:{identity.uid}:{identity.gid}::/home/{identity.user}:/bin/bash",
    )
    return "\n".join(rows) + "\n"


def group(identity: Identity) -> str:
    """Return the text of /etc/group."""
    rows = (
        "root:x:0:",
        "daemon:x:1:",
        "tty:x:5:",
        "nogroup:x:65534:",
        f"bancada-env:x:{ENVIRONMENT_GID}:{identity.user}",
        f"{identity.project}:x:{identity.gid}:{identity.user}",
    )
    return "\n".join(rows) + "\n"


def write_identity(places: Places, folder: Path, identity: Identity) -> None:
    """Write the files of one person in one project; files that are right already are left alone.

    Args:
        places: The site's paths.
        folder: Where passwd and group go.
        identity: Who, and where.
    """
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    write_if_changed(folder / "passwd", passwd(identity))
    write_if_changed(folder / "group", group(identity))
    write_if_changed(places.identities / "gitconfig", _GITCONFIG)


def write_if_changed(path: Path, text: str) -> None:
    """Replace a file that everybody may read, whole or not at all: a running server may have it bound."""
    try:
        if path.read_text() == text:
            return
    except FileNotFoundError:
        pass
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text)
    partial.chmod(0o644)
    partial.replace(path)
