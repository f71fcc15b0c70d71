import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bancada_images.errors import BuildError
from bancada_images.wheel import build_wheel, checkout_folder, wheel_hash

from .conftest import CHECKOUT, copied


def test_the_wheel_has_what_runs_with_a_researcher_and_no_more(bancada_wheel):
    with zipfile.ZipFile(bancada_wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
        entries = archive.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    assert "bancada/__init__.py" in names
    assert not [name for name in names if name.startswith(("bancada_hub", "bancada_images"))]
    assert "bancada = bancada.cli:main" in entries
    assert "bancada_hub" not in entries
    assert "dockerspawner" not in metadata
    assert "jupyterlab" in metadata


def test_equal_sources_give_equal_content_and_are_built_once(tmp_path, bancada_wheel, checkout):
    checkout = copied(checkout, tmp_path / "checkout")
    first = build_wheel(checkout, tmp_path / "out")
    assert wheel_hash(first) == wheel_hash(bancada_wheel)
    made = first.stat().st_mtime_ns
    assert build_wheel(checkout, tmp_path / "out") == first
    assert first.stat().st_mtime_ns == made


def test_a_change_for_researchers_changes_it_and_one_of_the_hub_does_not(tmp_path, checkout):
    checkout = copied(checkout, tmp_path / "checkout")
    first = build_wheel(checkout, tmp_path / "out")
    with (checkout / "hub" / "bancada_hub" / "errors.py").open("a") as file:
        file.write("# changed\n")
    assert build_wheel(checkout, tmp_path / "out") == first
    with (checkout / "extensions" / "bancada" / "errors.py").open("a") as file:
        file.write("# changed\n")
    second = build_wheel(checkout, tmp_path / "out")
    assert wheel_hash(second) != wheel_hash(first)


def test_sources_that_cannot_be_built_are_refused_with_the_reason(tmp_path, checkout):
    checkout = copied(checkout, tmp_path / "checkout")
    (checkout / "LICENSE").unlink()
    (checkout / "extensions" / "bancada" / "__init__.py").write_text("")
    with pytest.raises(BuildError, match=r"could not be built(.|\n)*version"):
        build_wheel(checkout, tmp_path / "out")
    assert [path for path in (tmp_path / "out").iterdir() if path.name != "x"] == []


def test_an_installed_distribution_gives_the_same_wheel(tmp_path, uv, bancada_wheel, checkout):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "full")]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    full = next((tmp_path / "full").glob("*.whl"))
    environment = tmp_path / "installed"
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([uv, "pip", "install", "-q", "--python", python, "--no-deps", "--offline", full], check=True)
    code = (
        "import sys, pathlib; from bancada_images import wheel; assert wheel.checkout_folder() is None; "
        "print(wheel.build_wheel(None, pathlib.Path(sys.argv[1])))"
    )
    done = subprocess.run([python, "-I", "-c", code, tmp_path / "out"], check=True, capture_output=True, text=True)
    assert wheel_hash(Path(done.stdout.strip())) == wheel_hash(bancada_wheel)


def test_the_checkout_is_found():
    assert checkout_folder() == CHECKOUT
