"""The proxy in front of hub and console: configurable-http-proxy, installed by its lock with the node of a wheel.

Neither node nor npm of the machine is used: Debian's may be too old, and may be missing. What is installed is decided
by `proxy_package/package-lock.json`, hashes and all; npm runs no script of any package. On a machine that reaches no
registry, the packages come from the wheelhouse of the site, by the same hashes.
"""

import base64
import hashlib
import json
import shutil
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from bancada_hub.errors import HostError
from bancada_images.node import install_packages, node_program

ProxyCommand: TypeAlias = list[str]

PACKAGE = Path(__file__).with_name("proxy_package")
FILES = ("package.json", "package-lock.json")
SCRIPT = Path("node_modules") / "configurable-http-proxy" / "bin" / "configurable-http-proxy"
WHEELHOUSE_VARIABLE = "UV_FIND_LINKS"
STAMP = "bancada-stamp"
SHOWN_LINES = 12


def proxy_command(prefix: Path | None = None) -> ProxyCommand:
    """Return the proxy's command without options: the real node (the wheel's own script would only start it).

    Args:
        prefix: Where it is installed; this Python environment by default.
    """
    return [str(node_program()), str(_home(prefix) / SCRIPT)]


def ensure_proxy(
    sources_env: Mapping[str, str], say: Callable[[str], None], prefix: Path | None = None
) -> ProxyCommand:
    """Install the proxy where that is not done yet, and return its command.

    Args:
        sources_env: Proxies, certificates and the wheelhouse, as environment variables. Which registry is used is npm's
            own setting (`npm_config_registry`, or .npmrc).
        say: Tells the person what happens.
        prefix: Where to install it; this Python environment by default.

    Raises:
        HostError: npm could not install it, or the wheelhouse has only some of its packages.
    """
    home = _home(prefix)
    if not is_installed(prefix):
        say("Installing the proxy")
        new = home.with_name(f"{home.name}.new")
        if new.exists():  # an interrupted installation
            shutil.rmtree(new)
        new.mkdir(parents=True)
        for name in FILES:
            shutil.copyfile(PACKAGE / name, new / name)
        archives = archives_in(sources_env.get(WHEELHOUSE_VARIABLE, ""))
        if archives:
            unpack(new, archives)
        else:
            _npm_ci(new, sources_env)
        (new / STAMP).write_text(f"{lock_hash()}\n", encoding="ascii")
        if home.exists():
            shutil.rmtree(home)
        new.rename(home)
    return proxy_command(prefix)


def is_installed(prefix: Path | None = None) -> bool:
    """Say whether the proxy is there, as its lock asks."""
    try:
        stamp = (_home(prefix) / STAMP).read_text(encoding="ascii").strip()
    except OSError:
        return False
    return stamp == lock_hash()


def lock_hash() -> str:
    """Return the hash of everything that decides what is installed."""
    return hashlib.sha256(b"\0".join((PACKAGE / name).read_bytes() for name in FILES)).hexdigest()


def archives_in(wheelhouse: str) -> dict[str, Path]:
    """Return the npm packages (`npm pack` made them) that lie in a wheelhouse, by their hash as npm writes it."""
    if not wheelhouse:
        return {}
    found = {}
    for path in sorted(Path(wheelhouse.removeprefix("file://")).glob("*.tgz")):
        digest = hashlib.sha512(path.read_bytes()).digest()
        found[f"sha512-{base64.b64encode(digest).decode()}"] = path
    return found


def unpack(folder: Path, archives: Mapping[str, Path]) -> None:
    """Lay out what the lock in a folder says from packages that are here.

    Raises:
        HostError: A package is missing, or its content is not what the lock says.
    """
    packages = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = {place: value for place, value in packages.items() if place}
    absent = [
        f"{place.rpartition('node_modules/')[2]}@{value['version']}"
        for place, value in wanted.items()
        if value["integrity"] not in archives
    ]
    if absent:
        raise HostError(
            f"The wheelhouse lacks npm packages of the proxy, or has them with another content: {', '.join(absent)}.",
            fix=f"On a machine that reaches npm's registry: npm pack {' '.join(absent)}\n"
            "Then copy the .tgz files into the wheelhouse.",
        )
    for place, value in wanted.items():
        with tarfile.open(archives[value["integrity"]]) as archive:
            for member in archive.getmembers():
                inside = Path(member.name).parts[1:]  # the first is "package", whatever it is called
                if member.isfile() and inside:
                    archive.extract(member.replace(name=str(Path(place, *inside))), folder, filter="data")


def _home(prefix: Path | None) -> Path:
    return (prefix or Path(sys.prefix)) / "bancada-proxy"


def _npm_ci(folder: Path, sources_env: Mapping[str, str]) -> None:
    """Let npm install what the lock in a folder says."""
    well, output = install_packages(folder, sources_env, "--omit=dev")
    if not well:
        said = "\n".join(output.splitlines()[:SHOWN_LINES])
        raise HostError(
            f"npm could not install the proxy (configurable-http-proxy). It said:\n{said}",
            fix="Set the npm registry that this machine reaches (registry=… in ~/.npmrc), or http_proxy and ca_bundle "
            "in the section [packages] of bancada.toml; then run the same command again.",
        )
