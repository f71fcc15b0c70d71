"""The built JavaScript of Bancada's JupyterLab extension: `python -m bancada_images.labextension [--out FOLDER]`.

It is built from `extensions/labextension` of the checkout with the node of a wheel and the packages of its lock, once
for each state of its sources, and kept below the Python environment. An installation from a wheel brings it along.
"""

import argparse
import fcntl
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bancada.errors import BancadaError
from bancada_images.errors import BuildError
from bancada_images.labextension_key import BUILT, LOCKED, key_of, source_files, sources_key, stamp
from bancada_images.node import install_packages, run_node
from bancada_images.progress import Progress
from bancada_images.wheel import checkout_folder

PACKAGED = Path(__file__).parent / "labextension_built"
"""Where a wheel brings it along."""

SOURCE = Path("extensions") / "labextension"
_INSTALLED = ".bancada-installed"
_FIX = (
    "Set the npm registry that this machine reaches (registry=… in ~/.npmrc), or http_proxy and ca_bundle in the "
    "section [packages] of bancada.toml; then run the same command again. Without a registry: build it elsewhere with "
    "python -m bancada_images.labextension --out extensions/labextension/build/labextension, and copy that folder."
)


def ensure_labextension(environment: Mapping[str, str], say: Progress, home: Path | None = None) -> Path:
    """Return the folder of the built extension, building it when its sources have changed.

    Args:
        environment: Proxies and certificates for npm.
        say: Told what happens.
        home: Where builds are kept; this Python environment by default.

    Raises:
        BuildError: npm or a compiler failed; what was built before stays.
    """
    checkout = checkout_folder()
    if checkout is None:
        return _packaged()
    source, place = checkout / SOURCE, home or Path(sys.prefix) / "bancada-labextension"
    key = sources_key(source)
    done = place / key
    for found in (done, source / BUILT):
        if key_of(found) == key:
            return found
    place.mkdir(parents=True, exist_ok=True)
    with _alone(place):
        if key_of(done) != key:
            _build(source, place, key, environment, say)
    return done


def packages_folder(source: Path, home: Path) -> Path:
    """Return where the npm packages of a lock lie."""
    lock = hashlib.sha256(b"\0".join((source / name).read_bytes() for name in LOCKED)).hexdigest()
    return home / f"packages-{lock[:12]}"


def _packaged() -> Path:
    if not (PACKAGED / "package.json").is_file():
        raise BuildError(
            f"This installation came without Bancada's JupyterLab extension ({PACKAGED}).",
            fix="Install a released wheel, or run ./bancada in a checkout.",
        )
    return PACKAGED


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Let one process build at a time; the others wait and find it done."""
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(source: Path, place: Path, key: str, environment: Mapping[str, str], say: Progress) -> None:
    work = packages_folder(source, place)
    _install(source, work, environment, say)
    say("JupyterLab extension: compiling", 0.05)
    with tempfile.TemporaryDirectory(prefix="build-", dir=work) as name:
        folder = Path(name)
        for path in source_files(source):
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        # The builder looks for packages beside package.json only.
        (folder / "node_modules").symlink_to(work / "node_modules")
        _must(["node_modules/typescript/bin/tsc"], folder, "Checking and compiling TypeScript")
        core = "node_modules/@jupyterlab/core-meta/core.package.json"
        builder = "node_modules/@jupyter/builder/lib/build-labextension.js"
        _must([builder, "--core-package-file", core, "."], folder, "Bundling")
        built = folder / BUILT
        stamp(built, key)
        if (place / key).exists():
            shutil.rmtree(place / key)
        built.rename(place / key)


def _install(source: Path, work: Path, environment: Mapping[str, str], say: Progress) -> None:
    if (work / _INSTALLED).exists():
        return
    say("JupyterLab extension: installing npm packages", 0.0)
    work.mkdir(exist_ok=True)
    for name in LOCKED:
        shutil.copyfile(source / name, work / name)
    well, said = install_packages(work, environment)
    if not well:
        raise BuildError(f"npm could not install what the JupyterLab extension needs:\n{said[-2000:]}", fix=_FIX)
    (work / _INSTALLED).touch()


def _must(command: list[str], folder: Path, what: str) -> None:
    well, said = run_node(command, folder, {})
    if not well:
        raise BuildError(
            f"{what} failed for the JupyterLab extension:\n{said[-3000:]}",
            fix="Mend what it names in extensions/labextension/src, then run the same command again.",
        )


def main() -> int:
    """Build it from the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bancada_images.labextension", description="Build the extension.")
    parser.add_argument("--out", type=Path, help="copy it there")
    out = parser.parse_args().out
    try:
        built = ensure_labextension({}, _tell)
    except BancadaError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if out:
        if out.resolve() != built.resolve():
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(built, out)
        built = out
    sys.stdout.write(f"{built}\n")
    return 0


def _tell(text: str, done: float | None = None) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
