"""The process engine's work environments: a full one for each person, project and base, made from the image's lock."""

import os
from pathlib import Path

from uv import find_uv_bin

from bancada_hub.launch.facts import IMAGE
from bancada_hub.launch.plan import LaunchPlan
from bancada_hub.places import Places
from bancada_hub.projects.directories import Owner, ensure_directory
from bancada_images.interpreter import host_interpreter
from bancada_images.lock import read_lock
from bancada_images.server_env import ensure_process_environment
from bancada_images.sources import PackageSources
from bancada_images.spec import catalog_folder
from bancada_images.wheel import build_wheel, checkout_folder


def ensure_person_environment(places: Places, sources: PackageSources, made: LaunchPlan) -> Path:
    """Return the environment that a server's kernels run in, making it at the first start.

    A rescue gets the site's own, which nobody changes.

    Args:
        places: The site's paths.
        sources: Where packages come from.
        made: The plan.
    """
    if made.overlay is None:
        return places.lowers / made.base
    folder = made.overlay.upper.parent
    ensure_directory(places.data, folder, Owner(0, 0, 0o711))
    environment = ensure_process_environment(
        read_lock(catalog_folder() / IMAGE),
        build_wheel(checkout_folder(), places.cache / "wheels"),
        sources,
        uv=Path(find_uv_bin()),
        python=host_interpreter(),
        target=folder / "env",
    )
    if os.geteuid() == 0 and environment.stat().st_uid != made.uid:
        give_away(environment, made.uid, made.gid)
    return environment


def give_away(folder: Path, uid: int, gid: int) -> None:
    """Make a tree that only root could write so far a person's; the top last, as the sign that all is done."""
    for _, folders, files, directory in os.fwalk(folder, topdown=False):
        for name in (*folders, *files):
            os.chown(name, uid, gid, dir_fd=directory, follow_symlinks=False)
    os.chown(folder, uid, gid, follow_symlinks=False)
