"""The four places that JupyterLab's file browser shows, as links in a folder in memory."""

import json
from collections.abc import Mapping
from pathlib import Path

from bancada.contract import LINKS_VARIABLE, PLACES, PLACES_VARIABLE


def targets(environment: Mapping[str, str]) -> dict[str, Path]:
    """Return where each place leads, by its name.

    Args:
        environment: The server's variables.
    """
    elsewhere: dict[str, str] = json.loads(environment.get(LINKS_VARIABLE, "{}"))
    return {name: Path(elsewhere.get(name) or path or environment["HOME"]) for name, path in PLACES}


def make_places(environment: Mapping[str, str]) -> Path:
    """Make the links; the folder itself is closed, so that no file is saved where it would not be kept.

    Args:
        environment: The server's variables.

    Returns:
        The folder.
    """
    folder = Path(environment[PLACES_VARIABLE])
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    for name, target in targets(environment).items():
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    folder.chmod(0o500)
    return folder
