"""What goes wrong on a machine, each with the message that a person sees: what, why, and what to do."""

import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bancada_hub.installation import read_installation
from bancada_hub.places import Places
from bancada_hub.site import Site as Settings
from bancada_hub.store import catalog, people, projects
from bancada_hub.store.database import migrate, open_store
from tests.conftest import find_free_ports
from tests.e2e.conftest import FirstSite
from tests.e2e.pages import OPENED_MS, card, sign_in, start_project, stop_project
from tests.e2e.site import Site
from tests.engine import TestEngine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

NAME, PERSONAL = "bea", "Personal"


@pytest.fixture
def new_site(engine: TestEngine, data: Path) -> Site:
    with engine.enter():
        return Site(engine, data, find_free_ports(5))


def prepare_database(site: Site) -> Path:
    """Make the database as `up` would, and return its file."""
    places = Places(site.data)
    places.backups.mkdir(parents=True)
    migrate(Settings(), places)
    return places.database_file


# Before anything runs: `up` refuses, says why, and leaves nothing behind


def assert_refused(site: Site, *expected: str, **variables: str) -> None:
    said = site.up(**variables)
    assert said.status == 1, said.text
    for text in expected:
        assert text in said.text
    assert "Traceback" not in said.text
    processes = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in site.engine.network.processes()]
    assert [line for line in processes if bytes(site.data) in line] == []


def test_port_in_use(new_site: Site) -> None:
    with new_site.engine.enter(), socket.create_server(("127.0.0.1", new_site.port)):
        assert_refused(
            new_site,
            f"Port {new_site.port} on 127.0.0.1 is in use by",
            "End that process, or choose another with --port N",
        )


def test_engine_that_does_not_answer(new_site: Site, run_directory: Path) -> None:
    path = run_directory / "silent.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        assert_refused(
            new_site,
            f"A container engine is at {path}, but it did not answer within",
            "Restart that engine",
            DOCKER_HOST=f"unix://{path}",
        )


def test_disk_nearly_full_before_a_build(new_site: Site) -> None:
    new_site.data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m", "bancada-test", new_site.data], check=True)
    assert_refused(new_site, f"GiB are free at {new_site.data}", "A first image needs", "Free some space there")


def test_typo_in_the_settings(new_site: Site) -> None:
    new_site.data.mkdir()
    new_site.settings.write_text("# my site\nprot = 9000\n")
    assert_refused(new_site, f"{new_site.settings}, line 2: there is no key “prot”. The nearest is “port”.")


def test_database_that_cannot_be_reached(new_site: Site) -> None:
    new_site.data.mkdir()
    with new_site.engine.enter():
        closed = find_free_ports(1)
    new_site.settings.write_text(f'[database]\nurl = "postgresql://bancada@127.0.0.1:{closed}/bancada"\n')
    assert_refused(
        new_site,
        f"The database postgresql://bancada@127.0.0.1:{closed}/bancada cannot be reached",
        "Start it, or correct database.url in bancada.toml.",
    )


def test_database_of_a_newer_release(new_site: Site) -> None:
    file = prepare_database(new_site)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert_refused(
        new_site,
        "The database is at version 9999, which this release does not know: a newer Bancada wrote it.",
        "Run that newer release, or restore the backup",
    )
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]


def test_a_build_that_was_interrupted_goes_on(new_site: Site) -> None:
    label = "bancada.build"
    running = new_site.start("up", "--yes", "--port", str(new_site.port))
    client = new_site.engine.client()
    running.wait_for(lambda _text: bool(client.containers.list(filters={"label": label})))
    running.interrupt()
    said = running.end(60)
    assert said.status == 130, said.text
    assert said.text.splitlines()[-1] == "Stopped. Run the same command again to go on."
    assert client.containers.list(all=True, filters={"label": label}) == []
    assert list((new_site.data / "lowers").glob("*")) == []
    again = new_site.up()
    assert again.status == 0, again.text
    assert again.step("Base system").mark == "·"
    assert again.text.splitlines()[-1].startswith("Ready.")
    assert new_site.run("down").status == 0


# While a site runs: the page says what is wrong, and the next start after it was mended works


@pytest.fixture(scope="module")
def bea(site: FirstSite) -> str:
    assert site.first_up.status == 0, f"{site.first_up.text}\n{site.logs()}"
    site.add_person(NAME)
    return NAME


@contextmanager
def signed_in(page: Page, site: FirstSite, name: str) -> Iterator[None]:
    """Have a person on Work with nothing running, and see that a start works again afterwards."""
    sign_in(page, site, name)
    yield
    start_project(page, site, PERSONAL)
    stop_project(page, site, PERSONAL)


def assert_start_fails(page: Page, site: FirstSite, *expected: str) -> None:
    page.goto(f"{site.url}services/bancada/")
    card(page, PERSONAL).get_by_role("button", name="Start", exact=True).click()
    for text in expected:
        expect(card(page, PERSONAL)).to_contain_text(text)
    expect(card(page, PERSONAL).get_by_role("button", name="Start", exact=True)).to_be_enabled(timeout=OPENED_MS)


def revision_of(site: FirstSite) -> catalog.Revision:
    installation = read_installation(site.data)
    with open_store(installation.site, installation.places).read() as session:
        return catalog.published_revisions(session)[0]


def folders_of(site: FirstSite, name: str) -> tuple[Path, Path]:
    """Return a person's home, and the overlay of their personal project."""
    installation = read_installation(site.data)
    with open_store(installation.site, installation.places).read() as session:
        person = people.find_person(session, name)
        assert person
        project = next(project for project in projects.projects_of(session, person.id) if project.personal)
        lower = catalog.published_revisions(session)[0].built.lower
    return installation.places.home(person.uid), installation.places.overlay(project.id, person.uid, lower)


@pytest.mark.browser
def test_image_whose_tag_was_moved(site: FirstSite, bea: str, page: Page) -> None:
    built, client = revision_of(site).built, site.engine.client()
    name, _, tag = built.tag.partition(":")
    client.api.import_image_from_data(b"\0" * 1024, repository="bancada-test-other", tag="latest")  # an empty archive
    with signed_in(page, site, bea):
        client.images.get("bancada-test-other").tag(name, tag)
        try:
            assert_start_fails(page, site, "The image was tampered with", "Ask an administrator to run ./bancada up")
        finally:
            client.images.get(built.digest).tag(name, tag)
            client.images.remove("bancada-test-other")


@pytest.mark.browser
def test_image_that_is_missing(site: FirstSite, bea: str, page: Page) -> None:
    built, client = revision_of(site).built, site.engine.client()
    kept = site.engine.root / "kept-image.tar"
    with kept.open("wb") as file:
        for chunk in client.images.get(built.tag).save(named=True):
            file.write(chunk)
    with signed_in(page, site, bea):
        client.images.remove(built.digest, force=True)
        try:
            assert_start_fails(page, site, f"The image {built.tag}", "is no longer on this machine", "./bancada up")
        finally:
            with kept.open("rb") as file:
                client.images.load(file)
            kept.unlink()


@pytest.mark.browser
def test_overlay_that_cannot_mount(site: FirstSite, bea: str, page: Page) -> None:
    with signed_in(page, site, bea):
        start_project(page, site, PERSONAL)
        stop_project(page, site, PERSONAL)
        _home, overlay = folders_of(site, bea)
        owner = (overlay / "work").stat()
        # Another file system than the upper directory's, which overlayfs refuses.
        options = f"size=1m,mode=0755,uid={owner.st_uid},gid={owner.st_gid}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "bancada-test", overlay / "work"], check=True)
        try:
            assert_start_fails(page, site, "Your changes to the environment could not be mounted")
            expect(card(page, PERSONAL).get_by_role("button", name="Start in safe mode")).to_be_visible()
        finally:
            subprocess.run(["umount", overlay / "work"], check=True)


@pytest.mark.browser
def test_home_of_the_wrong_owner(site: FirstSite, bea: str, page: Page) -> None:
    with signed_in(page, site, bea):
        home, _overlay = folders_of(site, bea)
        uid = home.stat().st_uid
        shutil.chown(home, 0, 0)
        try:
            assert_start_fails(page, site, f"{home} belongs to uid 0; it must belong to uid {uid}.", "Ask an admin")
            page.get_by_role("button", name="Português").click()
            own = card(page, "Pessoal")
            own.get_by_role("button", name="Iniciar", exact=True).click()
            expect(own).to_contain_text(f"{home} pertence ao uid 0; deve pertencer ao uid {uid}.")
            expect(own).to_contain_text("Fale com quem administra este site.")
            page.get_by_role("button", name="English").click()
            expect(card(page, PERSONAL)).to_be_visible()
        finally:
            shutil.chown(home, uid, uid)
