"""Debian's packages: which are missing, and their installation after somebody agreed to it."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence

from bancada_hub.errors import HostError

Ask = Callable[[str], bool]

# Another apt or dpkg on this machine (unattended upgrades on a fresh one) is waited for instead of failing at once.
LOCK_OPTION = "DPkg::Lock::Timeout=120"
SHOWN_LINES = 12


def is_debian() -> bool:
    """Say whether this system installs packages as Debian does."""
    return shutil.which("apt-get") is not None and shutil.which("dpkg-query") is not None


def missing(packages: Sequence[str]) -> list[str]:
    """Return those of the packages that are not installed, in the given order."""
    if not is_debian():
        return list(packages)
    listed = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\\n", "--", *packages],
        capture_output=True,
        text=True,
        check=False,  # it fails as soon as one name is unknown, and lists the others all the same
    )
    installed = {line.split()[0] for line in listed.stdout.splitlines() if line.endswith(" installed")}
    return [package for package in packages if package not in installed]


def install_command(packages: Sequence[str]) -> str:
    """Return the command that a person would type to install these packages."""
    return f"apt-get install -y --no-install-recommends {' '.join(packages)}"


def install(packages: Sequence[str], *, reason: str, agreed: bool, ask: Ask | None) -> None:
    """Install those of the packages that are missing.

    Args:
        packages: Names of Debian packages.
        reason: A sentence that says what they are for.
        agreed: Whether `--yes` was given: then nothing is asked.
        ask: Asks a question on the terminal; None where there is no terminal.

    Raises:
        HostError: This is not Debian, the process is not root, nobody agreed, or apt-get failed.
    """
    absent = missing(packages)
    if not absent:
        return
    names = " and ".join(absent)
    command = install_command(absent)
    if not is_debian():
        raise HostError(
            f"{reason} This needs {names}, and this system has no apt-get to install them with.",
            fix=f"Install {names} with this system's own tool, then run the same command again.",
        )
    needs = f"{reason} This needs Debian's packages {names}"
    if os.geteuid() != 0:
        raise HostError(f"{needs}; only root may install them.", fix=f"sudo {command}")
    if not agreed and (ask is None or not ask(f"{needs}. Install them now?")):
        raise HostError(
            f"{needs}, and nobody agreed to install them.",
            fix=f"Run the same command with --yes, or install them yourself: {command}",
        )
    # One list that cannot be read (a third party's, say) does not matter as long as the packages can be had.
    update = _apt_get("update")
    result = _apt_get("install", "-y", "--no-install-recommends", *absent)
    if result.returncode:
        said = update.stdout + result.stdout if update.returncode else result.stdout
        last = "\n".join(said.strip().splitlines()[-SHOWN_LINES:])
        raise HostError(f"apt-get could not install {names}. It said:\n{last}", fix=f"Mend that, then: {command}")


def _apt_get(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run apt-get so that it asks nothing and speaks English."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        ["apt-get", "-q", "-o", LOCK_OPTION, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
