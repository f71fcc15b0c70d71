import subprocess
import sys
from pathlib import Path

import pytest

from bancada_images.errors import BuildError, SpecError
from bancada_images.server_env import ensure_process_environment, require_hub_version
from bancada_images.sources import PackageSources

from .conftest import lock_of, tiny_wheel


@pytest.fixture
def make(tiny_lock, bancada_wheel, wheelhouse, uv, tmp_path):
    def call(lock=tiny_lock, wheels=wheelhouse) -> Path:
        sources, python = PackageSources(wheelhouse=wheels), Path(sys.executable)
        return ensure_process_environment(lock, bancada_wheel, sources, uv=uv, python=python, target=tmp_path / "env")

    return call


def python_says(environment: Path, code: str) -> str:
    command = [environment / "bin" / "python", "-I", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_process_environment_has_the_lock_and_bancada(make):
    environment = make()
    assert python_says(environment, "import tiny_thing, bancada; print(tiny_thing.VERSION)") == "1.0"
    assert python_says(environment, "import sys; print(sys.prefix)") == str(environment)
    assert list(environment.rglob("tiny_thing.*.pyc"))
    assert not list(environment.rglob("direct_url.json")), "where it was built is nobody's business"


def test_a_complete_one_is_kept_and_an_interrupted_one_is_made_again(make):
    environment = make()
    mark = environment / "mark"
    mark.touch()
    make()
    assert mark.exists()
    (environment / ".bancada-environment").unlink()
    make()
    assert not mark.exists()


def test_another_lock_gives_another_environment(make, tmp_path):
    folder = tmp_path / "newer"
    folder.mkdir()
    lock = lock_of(folder, tiny_wheel(folder, version="2.0"))
    make()
    environment = make(lock=lock, wheels=folder)
    assert python_says(environment, "import tiny_thing; print(tiny_thing.VERSION)") == "2.0"


def test_a_wheel_with_another_hash_is_refused(make, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    tiny_wheel(other).write_bytes(b"not the locked file")
    with pytest.raises(BuildError) as caught:
        make(wheels=other)
    assert "uv pip failed with exit code" in str(caught.value)
    assert "package sources" in caught.value.fix


def test_a_server_environment_of_another_hub_is_refused(tiny_lock):
    with pytest.raises(SpecError, match=r"The hub runs JupyterHub 6\.1\.1, the server environment's lock has none"):
        require_hub_version(tiny_lock, "6.1.1")
