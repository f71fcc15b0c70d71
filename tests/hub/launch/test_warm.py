"""Reading a server environment ahead, so that the first start after a boot is as fast as the next."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.warm import warm, warm_in_background
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store import catalog
from bancada_hub.store.database import Store, connect, migrate, open_store

SIZE_BYTES = 2 * 1024**2


def cold_file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(SIZE_BYTES))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert in_memory(path) == 0
    return path


def in_memory(path: Path) -> int:
    """Return how many bytes of a file the kernel holds."""
    command = ["fincore", "--bytes", "--noheadings", "--raw", "--output", "RES", str(path)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def wait_for_memory(*paths: Path) -> None:
    deadline = time.monotonic() + 10
    while any(in_memory(path) < SIZE_BYTES for path in paths):
        assert time.monotonic() < deadline, {path.name: in_memory(path) for path in paths}
        time.sleep(0.02)


def test_what_a_start_imports_is_read_and_what_browsers_ask_for_is_not(data: Path) -> None:
    module = cold_file(data / "lib" / "__pycache__" / "a.cpython-311.pyc")
    library, versioned = cold_file(data / "lib" / "b.so"), cold_file(data / "lib" / "libc.so.6")
    page = cold_file(data / "share" / "lab.js")
    (data / "lib" / "elsewhere.so").symlink_to(page)
    assert warm(data) == 3 * SIZE_BYTES
    wait_for_memory(module, library, versioned)
    assert in_memory(page) == 0


def test_a_hub_reads_the_published_environments_ahead(data: Path) -> None:
    data.mkdir(parents=True)
    context = LaunchContext("5e55104e", Site(), Places(data), store_with(data, "server-1"))
    wanted = cold_file(data / "lowers" / "server-1" / "lib" / "a.so")
    other = cold_file(data / "lowers" / "server-0" / "lib" / "a.so")
    warm_in_background(context).join()
    wait_for_memory(wanted)
    assert in_memory(other) == 0


def test_an_environment_that_is_gone_keeps_no_hub_from_starting(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    data.mkdir(parents=True)
    warm_in_background(LaunchContext("5e55104e", Site(), Places(data), store_with(data, "server-1"))).join()
    assert not caplog.records


def test_a_silent_database_keeps_no_hub_from_starting(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    Places(data).site.mkdir(parents=True)
    empty = connect(Site(), Places(data))
    warm_in_background(LaunchContext("5e55104e", Site(), Places(data), empty)).join()
    assert ["were not read ahead" in record.message for record in caplog.records] == [True]


def store_with(data: Path, server_environment: str) -> Store:
    places = Places(data)
    places.site.mkdir()
    migrate(Site(), places)
    store = open_store(Site(), places)
    with store.write() as session:
        catalog.put_image(session, "minimal", "Minimal", "")
        built = catalog.NewRevision("sha256:a", "a:1", "a1", server_environment, "s", "l", "3.11.2", 1)
        catalog.publish_revision(session, "minimal", built)
    return store
