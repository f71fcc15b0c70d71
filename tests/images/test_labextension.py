"""JupyterLab's part: built once for each state of its sources, by the node and the lock that it comes with."""

import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from bancada_images import labextension
from bancada_images.errors import BuildError
from bancada_images.labextension_key import key_of, sources_key
from bancada_images.wheel import build_server_wheel, build_wheel
from tests.gates.sources import ROOT

SOURCE = ROOT / labextension.SOURCE

pytestmark = pytest.mark.registry


def silent(text: str, _done: float | None = None) -> None:
    raise AssertionError(text)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("labextension")


@pytest.fixture(scope="module")
def built(home: Path) -> Path:
    said: list[str] = []
    copy = copy_of_sources(home).parents[1]  # the checkout itself may have one that was built for a release
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labextension, "checkout_folder", lambda: copy)
        folder = labextension.ensure_labextension(dict(os.environ), lambda text, _done=None: said.append(text), home)
    assert said == ["JupyterLab extension: installing npm packages", "JupyterLab extension: compiling"]
    return folder


def copy_of_sources(tmp_path: Path) -> Path:
    target = tmp_path / labextension.SOURCE
    shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("node_modules", "build", "lib"))
    return target


def test_the_lock_has_hashes_and_no_addresses() -> None:
    text = (SOURCE / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    assert all("integrity" in package for place, package in packages.items() if place)
    assert "resolved" not in text
    assert "omit-lockfile-registry-resolved=true" in (SOURCE / ".npmrc").read_text()


def test_it_is_a_prebuilt_extension(built: Path) -> None:
    package = json.loads((built / "package.json").read_text())
    assert package["name"] == "@bancada/lab"
    assert (built / package["jupyterlab"]["_build"]["load"]).is_file()
    assert key_of(built) == sources_key(SOURCE)


def test_the_second_time_builds_nothing(built: Path, home: Path) -> None:
    assert labextension.ensure_labextension({}, silent, home) == built


def test_any_change_of_the_sources_makes_another_key(tmp_path: Path) -> None:
    source = copy_of_sources(tmp_path)
    assert sources_key(source) == sources_key(SOURCE)
    (source / "src" / "words.ts").write_text("export {};\n")
    assert sources_key(source) != sources_key(SOURCE)


def test_one_that_was_built_elsewhere_is_taken(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = copy_of_sources(tmp_path)
    shutil.copytree(built, source / "build" / "labextension")
    monkeypatch.setattr(labextension, "checkout_folder", lambda: tmp_path)
    assert labextension.ensure_labextension({}, silent, tmp_path / "none") == source / "build" / "labextension"


def test_a_fault_in_the_sources_is_told_with_its_place(
    built: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert built.is_dir()  # so that the npm packages are there
    source = copy_of_sources(tmp_path)
    (source / "src" / "words.ts").write_text("export const broken: number = 'text';\n")
    monkeypatch.setattr(labextension, "checkout_folder", lambda: tmp_path)
    with pytest.raises(BuildError, match=r"src/words\.ts\(1,14\)"):
        labextension.ensure_labextension({}, lambda *_: None, home)
    assert not (home / sources_key(source)).exists()


def test_no_type_is_given_up(built: Path) -> None:
    assert built.is_dir()
    for path in sorted((SOURCE / "src").rglob("*.ts")):
        assert not re.search(r":\s*any\b|\bas any\b|<any>|@ts-(ignore|nocheck|expect-error)", path.read_text()), path


def test_only_the_wheel_of_servers_has_it(built: Path, tmp_path: Path) -> None:
    plain = build_wheel(ROOT, tmp_path)
    server = build_server_wheel(plain, built, tmp_path)
    added = set(zipfile.ZipFile(server).namelist()) - set(zipfile.ZipFile(plain).namelist())
    version = plain.name.split("-")[1]
    place = f"bancada-{version}.data/data/share/jupyter/labextensions/@bancada/lab/"
    assert {f"{place}package.json", f"{place}sources"} <= added
    assert all(name.startswith(place) for name in added)
    assert build_server_wheel(plain, built, tmp_path) == server
