"""Which Python of this machine environments without a container are made from."""

import os
import re
import stat
import sys
from pathlib import Path

from bancada_images.errors import BuildError

OLDEST = (3, 11)
SYSTEM = Path("/usr/bin/python3")


def host_interpreter() -> Path:
    """Return the interpreter for environments on this machine.

    It is the one that runs this program. Where root makes environments for other accounts, it must be one that they
    may run too, which an interpreter below /root is not; then the system's own is taken.

    Raises:
        BuildError: There is none that the accounts may run.
    """
    own = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if os.geteuid() != 0 or everybody_may_run(own):
        return own
    version = re.fullmatch(r"python(\d+)\.(\d+)", SYSTEM.resolve().name)
    if version and (int(version[1]), int(version[2])) >= OLDEST and everybody_may_run(SYSTEM):
        return SYSTEM.resolve()
    msg = f"People's accounts may not run {own}: a folder above it is root's alone."
    raise BuildError(msg, fix="Install a Python that they may: apt-get install -y python3 python3-venv")


def everybody_may_run(program: Path) -> bool:
    """Say whether an ordinary account may enter all folders above a program, its links resolved, and run it."""
    try:
        real = program.resolve(strict=True)
        return all(path.stat().st_mode & stat.S_IXOTH for path in (real, *real.parents))
    except OSError:
        return False
