"""From nothing to a package that stays: one site, one person, a real browser. Each test goes on where the last was."""

import subprocess
import sys
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bancada_hub.installation import read_installation
from bancada_hub.store import people, projects
from bancada_hub.store.database import open_store
from tests.e2e.conftest import FirstSite
from tests.e2e.pages import (
    card,
    new_notebook,
    open_lab,
    open_notebook,
    reset_environment,
    restart_kernel,
    run_cell,
    save,
    show_cell,
    sign_in,
    start_project,
    stop_project,
)
from tests.e2e.site import ROOT

pytestmark = [pytest.mark.engine, pytest.mark.browser, pytest.mark.timeout(1200)]

NAME, PROJECT, PERSONAL = "ana", "Protein folding", "Personal"
PACKAGE = "iniconfig"  # small, pure, and in no image
IMPORT = f"import {PACKAGE}; print({PACKAGE}.__file__)"
INSTALLED = "/opt/env/lib/python3"


@pytest.fixture(scope="module")
def ana(site: FirstSite) -> str:
    """A person with a personal project and a shared one."""
    assert site.first_up.status == 0, f"{site.first_up.text}\n{site.logs()}"
    site.add_person(NAME)
    installation = read_installation(site.data)
    store = open_store(installation.site, installation.places)
    with store.write() as session:
        project = projects.add_project(session, "folding", PROJECT, first_gid=installation.site.people.gid_min)
        person = people.find_person(session, NAME)
        assert person
        projects.add_member(session, project.id, person.id)
    return NAME


def test_up_ends_at_a_login_and_a_published_image(site: FirstSite) -> None:
    said = site.first_up
    print(said.text)  # seen with -s: the seconds of each step
    assert said.status == 0, f"{said.text}\n{site.logs()}"
    assert {step.mark for step in said.steps} <= {"✓", "·"}
    assert said.text.splitlines()[-1] == f"Ready. Sign in at {site.url}"
    assert set(site.passwords) == {"admin"}
    with site.engine.enter():
        connection = HTTPConnection("127.0.0.1", site.port, timeout=10)
        connection.request("GET", "/hub/login")
        assert connection.getresponse().status == 200
        connection.close()


def test_from_sign_in_to_a_package_that_stays(
    site: FirstSite, ana: str, page: Page, picture: Callable[[Page, str], None]
) -> None:
    page.goto(site.url)
    picture(page, "login")
    sign_in(page, site, ana)
    start_project(page, site, PROJECT)
    picture(page, "work")
    open_lab(page, site, PROJECT)
    new_notebook(page, "My files")
    assert run_cell(page, "import sys; print(sys.prefix)") == "/opt/env"
    assert run_cell(page, "import bancada; print(bancada.__version__)")
    assert "ModuleNotFoundError" in run_cell(page, IMPORT)
    assert f"Successfully installed {PACKAGE}" in run_cell(page, f"%pip install {PACKAGE}")
    assert run_cell(page, IMPORT).startswith(INSTALLED)
    assert run_cell(page, "from pathlib import Path; print(Path('kept.txt').write_text('kept'))") == "4"
    save(page)

    stop_project(page, site, PROJECT)
    start_project(page, site, PROJECT)
    open_lab(page, site, PROJECT, fresh=False)
    open_notebook(page, "My files", "Untitled.ipynb")
    assert run_cell(page, IMPORT).startswith(INSTALLED)
    assert run_cell(page, "from pathlib import Path; print(Path('kept.txt').read_text())") == "kept"


def test_the_person_is_somebody_in_the_container(site: FirstSite, ana: str, page: Page) -> None:
    sign_in(page, site, ana)
    open_lab(page, site, PROJECT)
    new_notebook(page, "My files")
    said = run_cell(
        page, "import getpass, os, pathlib; print(getpass.getuser(), os.getuid() > 10**6, pathlib.Path.home())"
    )
    assert said == f"{ana} True /home/{ana}"
    assert "0000000000000000" in run_cell(page, "!grep CapEff /proc/self/status")
    assert f"{PACKAGE} " in run_cell(page, "!uv pip list")
    assert f" - {PACKAGE}==" in run_cell(page, f"!uv pip uninstall {PACKAGE}")
    assert f" + {PACKAGE}==" in run_cell(page, f"!uv pip install {PACKAGE}")


def test_a_notebook_looks_like_one(site: FirstSite, ana: str, page: Page, picture: Callable[[Page, str], None]) -> None:
    sign_in(page, site, ana)
    open_lab(page, site, PROJECT)
    new_notebook(page, "My files")
    show_cell(page, "import bancada, sys\n\nsys.prefix", "'/opt/env'")
    show_cell(page, f"%pip install {PACKAGE}", f"Requirement already satisfied: {PACKAGE}")
    show_cell(page, "sum(n * n for n in range(1_000))", "332833500")
    picture(page, "lab")


def test_another_project_does_not_see_the_package(site: FirstSite, ana: str, page: Page) -> None:
    sign_in(page, site, ana)
    start_project(page, site, PERSONAL)
    open_lab(page, site, PERSONAL)
    new_notebook(page, "My files")
    assert "ModuleNotFoundError" in run_cell(page, IMPORT)
    stop_project(page, site, PERSONAL)


def test_the_kernel_may_be_upgraded(site: FirstSite, ana: str, page: Page) -> None:
    sign_in(page, site, ana)
    open_lab(page, site, PROJECT)
    new_notebook(page, "My files")
    assert "Successfully installed ipykernel" in run_cell(page, "%pip install -U --force-reinstall --no-deps ipykernel")
    restart_kernel(page)
    assert run_cell(page, "import sys, ipykernel; print(sys.prefix, ipykernel.__file__)").startswith(
        "/opt/env /opt/env/"
    )


def test_reset_throws_the_changes_away_and_keeps_the_files(site: FirstSite, ana: str, page: Page) -> None:
    sign_in(page, site, ana)
    stop_project(page, site, PROJECT)
    reset_environment(page, site, PROJECT)
    start_project(page, site, PROJECT)
    open_lab(page, site, PROJECT)
    open_notebook(page, "My files", "Untitled.ipynb")
    assert "ModuleNotFoundError" in run_cell(page, IMPORT)
    assert run_cell(page, "from pathlib import Path; print(Path('kept.txt').read_text())") == "kept"


def test_a_second_up_skips_what_is_done_and_stops_nobody(site: FirstSite, ana: str, page: Page) -> None:
    said = site.up()
    assert said.status == 0, said.text
    assert "password" not in said.text
    for title in ("Base system", "JupyterLab and what it needs", "Image Minimal", "Work environment on disk"):
        assert "already there" in said.step(title).outcome, said.text
    sign_in(page, site, ana)
    expect(card(page, PROJECT).get_by_role("link", name="Open")).to_be_visible()


def test_doctor_and_status_find_nothing_wrong(site: FirstSite) -> None:
    assert site.first_up.status == 0
    doctor, status = site.run("doctor"), site.run("status")
    assert (doctor.status, status.status) == (0, 0), doctor.text + status.text
    assert "✗" not in doctor.text


def test_an_idle_site_stays_within_its_memory(site: FirstSite) -> None:
    assert site.first_up.status == 0
    command = [sys.executable, str(ROOT / "bench" / "idle.py"), "--data", str(site.data)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr


def test_down_leaves_nothing_running_and_keeps_the_data(site: FirstSite, ana: str) -> None:
    before = sorted(path.name for path in (site.data / "fs" / "homes").iterdir())
    said = site.run("down")
    assert said.status == 0, said.text
    label = {"label": f"bancada.site={read_installation(site.data).facts.site_id}"}
    client = site.engine.client()
    assert client.containers.list(all=True, filters=label) == []
    assert client.networks.list(filters=label) == []
    assert client.volumes.list(filters=label) == []
    processes = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in site.engine.network.processes()]
    assert [line for line in processes if b"bancada" in line and bytes(site.data) in line] == []
    assert sorted(path.name for path in (site.data / "fs" / "homes").iterdir()) == before
    again = site.up()
    assert again.status == 0, again.text
