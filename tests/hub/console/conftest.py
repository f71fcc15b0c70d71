"""Fixtures of the console's tests.

running   session   a site with JupyterHub, proxy and console as real processes (running.py)
ana       test      somebody signed in, as a browser without scripts
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import find_free_ports
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
