"""A whole site and a real browser, both inside the namespace of the tests' engine.

site        session   a site that `./bancada up` made from nothing; `site.first_up` is what it said
browser     module    Chromium, started inside the namespace (a module, because Playwright keeps an event loop busy)
page        test      a new page of it, in a profile of its own; a picture of it is kept when the test fails
picture     test      keeps a picture for docs/images with `--keep-screenshots`, else only makes sure it can be made
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import leftovers
from tests.conftest import find_free_ports
from tests.e2e.site import ROOT, Said, Site
from tests.engine import TestEngine

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
]
EXPECTED_MS = 30_000  # with two cores shared by engine, servers and browser
WINDOW = {"width": 1280, "height": 800}
PICTURES = ROOT / "docs" / "images"
FAILED = Path(os.environ.get("BANCADA_TEST_OUTPUT", ROOT / "test-output"))


class FirstSite(Site):
    """The site that all tests of a run share."""

    first_up: Said


@pytest.fixture(scope="session")
def site(engine: TestEngine, run_directory: Path) -> Iterator[FirstSite]:
    with engine.enter():
        port = find_free_ports(5)
    site = FirstSite(engine, run_directory / "site", port)
    site.first_up = site.up()
    yield site
    site.run("down")
    leftovers.clear_run(site.data)


@pytest.fixture(scope="module")
def browser(engine: TestEngine) -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("Tests with a browser need Chromium. Install: ./bancada test --yes", pytrace=False)
    expect.set_options(timeout=EXPECTED_MS)
    with engine.enter(), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(viewport=WINDOW, locale="en-GB", color_scheme="light")
    context.set_default_timeout(30_000)
    page = context.new_page()
    failed_before = request.session.testsfailed
    yield page
    if request.session.testsfailed > failed_before:
        FAILED.mkdir(exist_ok=True)
        page.screenshot(path=FAILED / f"{request.node.name}.png")
    context.close()


@pytest.fixture
def picture(request: pytest.FixtureRequest) -> Callable[[Page, str], None]:
    def keep(page: Page, name: str) -> None:
        image = page.screenshot()
        if request.config.option.keep_screenshots:
            PICTURES.mkdir(parents=True, exist_ok=True)
            (PICTURES / f"{name}.png").write_bytes(image)

    return keep
