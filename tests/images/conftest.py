import base64
import hashlib
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from bancada_images.base import ensure_base
from bancada_images.lock import read_lock
from bancada_images.sources import PackageSources
from bancada_images.spec import ImageSpec
from bancada_images.wheel import build_wheel

CHECKOUT = Path(__file__).resolve().parents[2]


def tiny_wheel(folder: Path, name: str = "tiny_thing", version: str = "1.0") -> Path:
    """Write a real wheel of one module, so that installs need no index."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f'"""A module."""\n\nVERSION = "{version}"\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return wheel


def lock_of(folder: Path, wheel: Path):
    """Write and read a lock of one wheel."""
    name, version = wheel.name.split("-")[:2]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "requirements.in").write_text(f"{name}\n", encoding="utf-8")
    (folder / "requirements.lock").write_text(f"{name}=={version} --hash=sha256:{digest}\n", encoding="utf-8")
    return read_lock(folder)


def quiet(text: str, done: float | None = None) -> None:
    """Take progress and say nothing."""


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    tiny_wheel(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_lock(tmp_path_factory, wheelhouse):
    return lock_of(tmp_path_factory.mktemp("tiny"), next(wheelhouse.glob("*.whl")))


@pytest.fixture(scope="session")
def tiny_spec() -> ImageSpec:
    return ImageSpec(key="tiny", title="Tiny", purpose="For tests.", suite="bookworm", python="3.11")


@pytest.fixture(scope="session")
def uv() -> Path:
    beside = Path(sys.executable).parent / "uv"
    found = beside if beside.exists() else shutil.which("uv")
    assert found, "uv is part of the test environment"
    return Path(found)


@pytest.fixture(scope="session")
def checkout(tmp_path_factory) -> Path:
    """A copy of this checkout's sources, which nobody edits while tests run."""
    return copied(CHECKOUT, tmp_path_factory.mktemp("checkout"))


def copied(checkout: Path, folder: Path) -> Path:
    ignore = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in ("hub", "images", "extensions", "notebooks"):
        shutil.copytree(checkout / name, folder / name, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(checkout / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def bancada_wheel(tmp_path_factory, checkout) -> Path:
    return build_wheel(checkout, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def internet() -> PackageSources:
    """The public index, through the machine's own certificate authorities where it names some."""
    bundle = os.environ.get("SSL_CERT_FILE")
    return PackageSources(ca_bundle=Path(bundle) if bundle else None)


@pytest.fixture(scope="session")
def base(engine_client, tiny_spec, internet, tmp_path_factory):
    scratch = tmp_path_factory.mktemp("scratch")
    return ensure_base(engine_client, tiny_spec, internet, base_image=None, scratch=scratch, say=quiet)
