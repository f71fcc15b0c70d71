"""The distribution: built for real, installed into clean environments, and complete in each of its forms."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.gates.sources import PACKAGES, ROOT, committed

LIMIT_S = 120
INSTALLED_FROM = {"images/catalog/": "bancada_images/catalog/", "images/server/": "bancada_images/server/"}
BARE_NOUNS: set[str] = set()
"""What a laptop without extras has: nothing yet."""

OWN = {"bancada", "__main__", "_virtualenv"}  # the last is uv's way of marking a virtual environment
HUB_NOUNS = {"up", "down", "status", "logs", "doctor", "user", "test"}
IMPORTS = "import bancada, sys; print(sorted({name.partition('.')[0] for name in sys.modules}))"
USES_ITS_FILES = """
from pathlib import Path
import sys
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store.database import migrate, open_store
from bancada_images.lock import read_lock
from bancada_images.spec import catalog_folder, read_spec, server_folder
import bancada, bancada_hub, bancada_images
places = Places(Path(sys.argv[1]))
places.backups.mkdir(parents=True)
assert migrate(Site(), places)
open_store(Site(), places)
spec = read_spec(catalog_folder() / "minimal")
lock, server = read_lock(catalog_folder() / "minimal"), read_lock(server_folder())
print(spec.key, bancada.__file__, bancada_hub.__file__, bancada_images.__file__, catalog_folder())
"""


@dataclass(frozen=True)
class Distribution:
    """What the builds made.

    Args:
        wheel: From the checkout.
        sdist: From the checkout.
        wheel_of_sdist: From the unpacked sdist.
    """

    wheel: Path
    sdist: Path
    wheel_of_sdist: Path


@dataclass(frozen=True)
class CleanEnvironment:
    """A virtual environment with Bancada and nothing else."""

    folder: Path

    def run(self, *command: str, libraries: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a program of it; `libraries` lends it the third-party packages of this test run."""
        dropped = {"PYTHONPATH", "VIRTUAL_ENV"}
        environment = {name: value for name, value in os.environ.items() if name not in dropped}
        if libraries:
            environment["PYTHONPATH"] = sysconfig.get_path("purelib")
        program = str(self.folder / "bin" / command[0])
        return subprocess.run(
            [program, *command[1:]],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )


def build(*arguments: str, out: Path, source: Path = ROOT) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", *arguments, "--outdir", str(out), str(source)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def labextension_is_built() -> None:
    """Build JupyterLab's part into its place, as a release does."""
    out = ROOT / "extensions" / "labextension" / "build" / "labextension"
    command = [sys.executable, "-m", "bancada_images.labextension", "--out", str(out)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert result.returncode == 0, result.stderr


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    labextension_is_built()
    direct, through = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("sdist")
    build("--wheel", out=direct)
    build(out=through)  # an sdist first, then a wheel from what is in it
    return Distribution(*direct.glob("*.whl"), *through.glob("*.tar.gz"), *through.glob("*.whl"))


def install(wheel: Path, folder: Path) -> CleanEnvironment:
    uv = str(Path(sys.executable).with_name("uv"))
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
        [uv, "pip", "install", "--quiet", "--offline", "--python", str(folder / "bin" / "python"), str(wheel)],
    ):
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert result.returncode == 0, result.stderr
    return CleanEnvironment(folder)


@pytest.fixture(scope="module")
def installed(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    """The wheel alone, without extras: it must install without asking any index."""
    return install(distribution.wheel, tmp_path_factory.mktemp("clean") / "venv")


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    """What `pip install -e` makes of this checkout, by the same hook of the build backend."""
    out = tmp_path_factory.mktemp("editable")
    program = "import sys; from hatchling.build import build_editable; print(build_editable(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(out)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert built.returncode == 0, built.stderr
    return install(next(out.glob("*.whl")), out / "venv")


def test_wheel_from_sdist_equals_wheel_from_checkout(distribution: Distribution) -> None:
    assert names(distribution.wheel_of_sdist) == names(distribution.wheel)


def test_wheel_has_every_file_of_the_packages(distribution: Distribution) -> None:
    expected = set()
    for path in map(str, committed()):
        for source, place in INSTALLED_FROM.items():
            if path.startswith(source):
                expected.add(place + path.removeprefix(source))
        if path.startswith(tuple(f"{package}/" for package in PACKAGES)):
            expected.add(path.partition("/")[2])
    assert expected - set(names(distribution.wheel)) == set()


@pytest.mark.parametrize(
    "kind",
    [
        "bancada_hub/ui/templates/layout.html",
        "bancada_hub/ui/static/tokens.css",
        "bancada_hub/ui/locale/",
        "bancada_hub/store/migrations/versions/",
        "bancada_hub/host/proxy_package/package-lock.json",
        "bancada_images/catalog/minimal/image.toml",
        "bancada_images/catalog/minimal/requirements.lock",
        "bancada_images/server/requirements.lock",
        "bancada_images/labextension_built/static/remoteEntry.",
        "bancada/locale/pt_BR/LC_MESSAGES/bancada.json",
        "bancada/py.typed",
        "bancada_hub/py.typed",
        "bancada_images/py.typed",
    ],
)
def test_wheel_has(distribution: Distribution, kind: str) -> None:
    assert [name for name in names(distribution.wheel) if name.startswith(kind)]


def test_wheel_has_nothing_that_is_made_again(distribution: Distribution) -> None:
    made = ("__pycache__", ".pyc", "node_modules", ".venv", "tests/")
    assert [name for name in names(distribution.wheel) if any(word in name for word in made)] == []


def test_sdist_has_the_bootstrap(distribution: Distribution) -> None:
    with tarfile.open(distribution.sdist) as archive:
        assert {Path(name).name for name in archive.getnames() if name.count("/") == 1} >= {"bancada", "LICENSE"}


def test_bare_install_imports_nothing_but_itself(installed: CleanEnvironment) -> None:
    result = installed.run("python", "-I", "-c", IMPORTS)
    assert result.returncode == 0, result.stderr
    loaded = set(result.stdout.strip("[]\n").replace("'", "").split(", "))
    assert {name for name in loaded if name not in sys.stdlib_module_names} - OWN == set()


def test_bare_install_shows_only_the_nouns_that_can_be_used(installed: CleanEnvironment) -> None:
    result = installed.run("bancada", "--help")
    assert result.returncode == 0, result.stderr
    shown = {line.split()[0] for line in result.stdout.splitlines() if line.startswith("    ") and line.strip()}
    assert shown == BARE_NOUNS


@pytest.mark.parametrize("noun", sorted(HUB_NOUNS))
def test_bare_install_says_what_a_noun_of_the_hub_needs(installed: CleanEnvironment, noun: str) -> None:
    result = installed.run("bancada", noun)
    assert result.returncode == 1
    assert "pip install 'bancada[hub]'" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("form", ["installed", "editable"])
def test_every_noun_is_there_with_the_hubs_libraries(request: pytest.FixtureRequest, form: str) -> None:
    result = request.getfixturevalue(form).run("bancada", "--help", libraries=True)
    assert result.returncode == 0, result.stderr
    shown = {line.split()[0] for line in result.stdout.splitlines() if line.startswith("    ") and line.strip()}
    assert shown >= HUB_NOUNS


@pytest.mark.parametrize("form", ["installed", "editable"])
def test_every_form_finds_its_own_files(request: pytest.FixtureRequest, tmp_path: Path, form: str) -> None:
    environment = request.getfixturevalue(form)
    result = environment.run("python", "-c", USES_ITS_FILES, str(tmp_path / "data"), libraries=True)
    assert result.returncode == 0, result.stderr
    key, *files = result.stdout.split()
    assert key == "minimal"
    assert all(Path(file).is_relative_to(environment.folder if form == "installed" else ROOT) for file in files)


def test_tests_of_an_installed_package_say_where_they_are(installed: CleanEnvironment) -> None:
    result = installed.run("bancada", "test", "--quick", libraries=True)
    assert result.returncode == 1
    assert "Run ./bancada test in a clone of the repository." in result.stderr
