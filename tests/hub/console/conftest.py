"""Fixtures of the console's tests.

running   session   a site with JupyterHub, proxy and console as real processes (running.py)
ana       test      somebody signed in, as a browser without scripts
chromium  module    a real Chromium
page      test      a window of it, signed out; fails on an error of a script
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, sync_playwright

from tests.conftest import find_free_ports
from tests.hub.console.browser import ARGUMENTS
from tests.hub.console.running import Browser, RunningSite, make_site


@pytest.fixture(scope="session")
def running(run_directory: Path) -> Iterator[RunningSite]:
    data = run_directory / "console"
    site = make_site(data, find_free_ports(5))
    try:
        for name in ("proxy", "hub", "console"):
            site.start(name)
        yield site
    finally:
        site.end_all()
        shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def ana(running: RunningSite) -> Browser:
    browser = Browser(running)
    assert browser.sign_in("ana").status_code == 200
    return browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("Tests with a browser need Chromium. Install: ./bancada test --yes", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Chromium, running: RunningSite) -> Iterator[Page]:
    context = chromium.new_context(base_url=running.url, viewport={"width": 1280, "height": 800}, locale="en-GB")
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda line: problems.append(line.text) if "Content Security Policy" in line.text else None)
    yield page
    context.close()
    assert problems == []
