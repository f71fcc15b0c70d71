"""Finishing a server environment where it is made: `python -I -m bancada.server.install`.

Writes the kernelspec and JupyterLab's defaults below the environment that runs this.
"""

import json
import shutil
import sys
from pathlib import Path

from bancada.server.kernelspec import NAME, write_kernelspec

LAB_OVERRIDES = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",  # a toast that covers a corner, and a question nobody needs at the first start
        "checkForUpdates": False,
        "doNotDisturbMode": False,
    },
    "@jupyterlab/docmanager-extension:plugin": {"renameUntitledFileOnSave": False},
}
LAB_DISABLED = {
    # Packages of the platform are not installed from inside a server, and news are off.
    "@jupyterlab/extensionmanager-extension": True,
    "@jupyterlab/apputils-extension:announcements": True,
}
WORK_ENVIRONMENT = Path("/opt/env")


def install(prefix: Path, work_environment: Path) -> None:
    """Write kernelspec and defaults.

    Args:
        prefix: The server environment.
        work_environment: Where its kernels run.
    """
    share = prefix / "share" / "jupyter"
    for other in (share / "kernels").glob("*"):
        if other.name != NAME:
            shutil.rmtree(other)
    write_kernelspec(share, work_environment)
    _write(share / "lab" / "settings" / "overrides.json", LAB_OVERRIDES)
    _write(prefix / "etc" / "jupyter" / "labconfig" / "page_config.json", {"disabledExtensions": LAB_DISABLED})


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    install(Path(sys.prefix), WORK_ENVIRONMENT)
