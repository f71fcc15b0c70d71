"""What all tests share.

Options: `--quick` leaves out what needs an engine, a browser, a database or a running site, and what makes whole
environments from package registries; `--no-skips` (CI) fails the run when such a test was skipped or left out;
`--keep-screenshots` writes the pictures of docs/images anew.

Fixtures, each real, each failing with a sentence where the machine lacks something:

    engine          session   a Docker engine of the tests' own, in its own network namespace (tests/engine.py)
    engine_client   session   a docker.DockerClient of it
    inside          test      this thread, and the programs it starts, stand in the engine's namespace
    run_directory   session   a short directory of this run, removed at the end
    data            test      a short path for a site's data directory (not yet there), removed at the end
    free_ports      test      finds the first of some ports in a row that are free here: `free_ports(4)`
    postgres        session   a PostgreSQL server of the tests' own (tests/postgres.py)
    postgres_url    test      a new, empty database in it

A test that uses one of them gets its marker (engine, database, browser) by itself, as do those of a running site
(tests/hub/console/conftest.py). `tests/e2e/conftest.py` adds a whole site and a browser.
"""

import contextlib
import itertools
import os
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from tests import leftovers
from tests.engine import EngineTroubleError, TestEngine
from tests.postgres import Postgres, PostgresTroubleError

MARKERS = {
    "engine": "engine",
    "browser": "browser",
    "chromium": "browser",
    "postgres": "database",
    "installed": "registry",
    "running": "site",
}
FIRST_PORT, LAST_PORT = 12_000, 30_000  # below the range that the kernel gives to outgoing connections

Ports = Callable[[int], int]
_tally = pytest.StashKey[dict[str, Counter[str]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bancada")
    group.addoption("--quick", action="store_true", help="leave out what needs a part of the machine, see above")
    group.addoption("--no-skips", action="store_true", help="fail when something of that was skipped or left out")
    group.addoption("--keep-screenshots", action="store_true", help="write the pictures in docs/images anew")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_tally] = {"ran": Counter(), "left out": Counter()}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in MARKERS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARKERS[fixture])
    if not config.option.quick:
        return
    left = [item for item in items if needs_of(item)]
    items[:] = [item for item in items if not needs_of(item)]
    config.hook.pytest_deselected(items=left)


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        item.config.stash[_tally]["left out"].update(needs_of(item))


def needs_of(item: pytest.Item) -> set[str]:
    """Return the markers that say what of the machine a test needs."""
    return set(MARKERS.values()) & {marker.name for marker in item.iter_markers()}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    tally = item.config.stash[_tally]
    if report.skipped:
        tally["left out"].update(needs_of(item) or {"nothing of the machine"})
    elif report.when == "call":
        tally["ran"].update(needs_of(item))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for what, counter in config.stash[_tally].items():
        if counter:
            terminalreporter.write_line(f"{what}: " + ", ".join(f"{n} {name}" for name, n in sorted(counter.items())))
    for problem in no_skips_problems(config):
        terminalreporter.write_line(f"error: {problem}", red=True)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if not exitstatus and no_skips_problems(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def no_skips_problems(config: pytest.Config) -> list[str]:
    """Return what a run that must be complete lacks; nothing when it need not be."""
    if not config.option.no_skips:
        return []
    tally = config.stash[_tally]
    missed = [f"{n} tests that need {name} were skipped or left out" for name, n in tally["left out"].items()]
    return missed + [
        f"no test that needs a {name} ran" for name in sorted({*MARKERS.values()}) if not tally["ran"][name]
    ]


@pytest.fixture(scope="session")
def run_directory() -> Iterator[Path]:
    """A short directory of this run alone; its name holds the process id, so that the next run can clear it."""
    leftovers.clear()
    directory = leftovers.ROOT / f"r{os.getpid()}"
    directory.mkdir(parents=True)
    yield directory
    leftovers.clear_run(directory)


@pytest.fixture
def data(run_directory: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A short path for a data directory. A test makes it, or lets the program make it."""
    numbers = itertools.count(1)
    directory = next(path for n in numbers if not (path := run_directory / f"d{n}").exists())
    yield directory
    leftovers.end(lambda: leftovers.processes_naming(directory))
    leftovers.unmount_below(directory)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def engine() -> Iterator[TestEngine]:
    """The tests' engine, running; a test that kills or equips one makes a TestEngine with a root of its own."""
    engine = TestEngine()
    try:
        engine.start()
    except (EngineTroubleError, leftovers.LockedError) as error:
        pytest.fail(str(error), pytrace=False)
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def engine_client(engine: TestEngine) -> Iterator[docker.DockerClient]:
    with contextlib.closing(engine.client()) as client:
        yield client


@pytest.fixture
def inside(engine: TestEngine) -> Iterator[None]:
    with engine.enter():
        yield


@pytest.fixture
def free_ports() -> Ports:
    return find_free_ports


def find_free_ports(count: int = 4) -> int:
    """Return the first of some ports in a row that are free in this thread's network namespace."""
    start = FIRST_PORT + os.getpid() % 1000 * 16
    for first in itertools.chain(range(start, LAST_PORT, count), range(FIRST_PORT, start, count)):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + count):
                listener = stack.enter_context(socket.socket())
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(("127.0.0.1", port))
            return first
    raise AssertionError(f"There are no {count} free ports in a row from {FIRST_PORT} to {LAST_PORT}.")


@pytest.fixture(scope="session")
def postgres(run_directory: Path) -> Iterator[Postgres]:
    """A database server; the test that stops it starts it again."""
    try:
        server = Postgres(run_directory / "postgres", find_free_ports(1)).start()
    except PostgresTroubleError as error:
        pytest.fail(str(error), pytrace=False)
    yield server
    server.stop()


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    return postgres.new_database()
