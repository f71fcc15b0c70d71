"""An engine that may be killed, and a site on it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.conftest import find_free_ports
from tests.crash.site import CrashSite, make_crash_site
from tests.engine import TestEngine
from tests.hub.console.running import wait_until
from tests.hub.launch.conftest import standin  # noqa: F401 - a fixture
from tests.leftovers import ROOT


@pytest.fixture(scope="package")
def engine() -> Iterator[TestEngine]:
    engine = TestEngine(ROOT / "crash")
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="package")
def site(engine: TestEngine, run_directory: Path, standin: Path) -> Iterator[CrashSite]:  # noqa: F811
    data = run_directory / "crash"
    with engine.enter():
        made = make_crash_site(engine, data, find_free_ports(5), standin)
        try:
            made.start()
            yield made
        finally:
            made.services.stop()
            made.client.close()
            shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def answering(site: CrashSite) -> CrashSite:
    """The site, once it answers."""

    def answers() -> bool:
        try:
            return requests.get(site.url + "/services/bancada/api/preparation", timeout=5).status_code == 200
        except requests.ConnectionError:
            return False

    wait_until(answers, "the site answers")
    return site
