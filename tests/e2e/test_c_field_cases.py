"""Faults that people met elsewhere, looked for from the inside of a server of the shared site (field cases by id)."""

from collections.abc import Iterator
from importlib.metadata import version

import pytest
from docker.models.containers import Container
from playwright.sync_api import Page

from bancada_hub.installation import read_installation
from bancada_hub.launch.ulimits import server_ulimits
from bancada_hub.site import GIB
from bancada_hub.store import people
from bancada_hub.store.database import open_store
from tests.e2e.conftest import FirstSite
from tests.e2e.pages import new_notebook, open_lab, run_cell, sign_in, start_project, stop_project

pytestmark = [pytest.mark.engine, pytest.mark.browser, pytest.mark.timeout(600)]

NAME = "caio.x_y-z"
"""Every character that an account name may have."""

KNOWN_MISSING = "/lsp/status"
"""JupyterLab asks for language servers; an answer of 404 means that there are none."""


@pytest.fixture(scope="module")
def caio(site: FirstSite) -> str:
    assert site.first_up.status == 0, site.first_up.text
    site.add_person(NAME)
    return NAME


class Inside:
    """The container of the person's only running server, entered as that person."""

    def __init__(self, site: FirstSite, name: str) -> None:
        installation = read_installation(site.data)
        with open_store(installation.site, installation.places).read() as session:
            person = people.find_person(session, name)
        assert person
        labels = [f"bancada.site={installation.facts.site_id}", f"bancada.person={person.uid}"]
        (container,) = site.engine.client().containers.list(filters={"label": labels})
        self.container: Container = container
        self.home = site.data / "fs" / "homes" / str(person.uid)
        self.uid = person.uid

    def run(self, command: str) -> str:
        status, output = self.container.exec_run(["bash", "-c", command], user=self.container.attrs["Config"]["User"])
        assert status == 0, output.decode()
        return output.decode().strip()


@pytest.fixture
def inside(site: FirstSite, caio: str, page: Page) -> Iterator[Inside]:
    sign_in(page, site, caio)
    start_project(page, site, "Personal")
    yield Inside(site, caio)
    stop_project(page, site, "Personal")


def test_limits_and_folders_are_what_work_needs(site: FirstSite, inside: Inside) -> None:
    """D6: /dev/shm of 64 MiB; D7: locked memory of 64 KiB; D15: folders owned by root; F5: versions far apart."""
    memory_bytes = read_installation(site.data).site.server.memory_gib * GIB
    assert int(inside.run("df -B1 --output=size /dev/shm | tail -1")) == memory_bytes / 2
    limits = {limit.name: limit.soft for limit in server_ulimits(65_536)}
    assert inside.run("ulimit -n") == str(limits["nofile"])
    locked = inside.run("ulimit -l")
    assert locked == ("unlimited" if limits["memlock"] == -1 else str(limits["memlock"] // 1024))
    for folder in ("$HOME", "/project", "/state", "/opt/env", "/tmp"):
        assert inside.run(f"touch {folder}/written && rm {folder}/written && echo yes") == "yes", folder
    assert inside.run("stat -c %u $HOME") == str(inside.uid)
    for folder in ("/data", "/examples", "/opt/bancada", "/etc"):
        assert inside.run(f"touch {folder}/written 2>/dev/null || echo no") == "no", folder
    assert inside.run("/opt/bancada/bin/python -c 'import jupyterhub; print(jupyterhub.__version__)'") == version(
        "jupyterhub"
    )


def test_pip_is_there_and_means_the_work_environment(inside: Inside) -> None:
    """A24: `python -m pip` fails in an environment that uv made."""
    assert "/opt/env/" in inside.run("python -m pip --version")
    assert inside.run("command -v python pip").split() == ["/opt/env/bin/python", "/opt/env/bin/pip"]
    assert inside.run("uv pip list 2>/dev/null | grep -c ^ipykernel") == "1"


def test_packages_in_the_home_shadow_nothing(site: FirstSite, caio: str, page: Page, inside: Inside) -> None:
    """A23: old packages in ~/.local break kernels, and even the server."""
    site_packages = inside.run("python -c 'import site; print(site.getusersitepackages())'")
    for package in ("ipykernel", "jupyter_server", "tornado"):
        inside.run(
            f"mkdir -p {site_packages}/{package} && echo 'raise SystemExit(1)' > {site_packages}/{package}/__init__.py"
        )
    inside.run("mkdir -p ~/.jupyter && echo 'raise SystemExit(1)' > ~/.jupyter/jupyter_server_config.py")
    stop_project(page, site, "Personal")
    start_project(page, site, "Personal")
    open_lab(page, site, "Personal")
    new_notebook(page, "My files")
    assert (
        run_cell(page, "import site, ipykernel; print(site.ENABLE_USER_SITE, ipykernel.__file__[:9])")
        == "False /opt/env/"
    )


def test_no_request_of_jupyterlab_is_lost_behind_the_hub(
    site: FirstSite, caio: str, page: Page, inside: Inside
) -> None:
    """C7: blank panels behind a hub, because an address lost its prefix."""
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    open_lab(page, site, "Personal")
    new_notebook(page, "Project")
    assert run_cell(page, "import os; print(os.getcwd())") == "/project"
    assert [line for line in failed if KNOWN_MISSING not in line] == []


def test_what_was_installed_is_there_after_a_restart(site: FirstSite, page: Page, inside: Inside) -> None:
    """A26: packages vanish with the container's layer."""
    inside.run("pip install --quiet iniconfig && mkdir -p ~/notes && echo kept > ~/notes/a.txt")
    stop_project(page, site, "Personal")
    start_project(page, site, "Personal")
    again = Inside(site, NAME)
    assert again.container.id != inside.container.id
    assert again.run("python -c 'import iniconfig; print(iniconfig.__file__)'").startswith("/opt/env/")
    assert (inside.home / "notes" / "a.txt").read_text() == "kept\n"


def test_a_server_is_started_from_what_is_here_and_waits_for_no_pull(site: FirstSite, inside: Inside) -> None:
    """D14: the first start waits for a pull until it times out. Ours start from an id that the engine has."""
    attributes = inside.container.attrs
    assert attributes["Config"]["Image"] == attributes["Image"]
