"""The tests' own engine, network and database server do what the other tests rely on."""

import socket
import subprocess
from pathlib import Path

import docker
import psycopg
import pytest

from tests import leftovers
from tests.conftest import Ports
from tests.engine import TestEngine
from tests.postgres import Postgres


def addresses() -> str:
    return subprocess.run(["ip", "-brief", "address"], capture_output=True, text=True, check=True).stdout


def test_the_engine_stands_in_a_namespace_of_its_own(engine: TestEngine, engine_client: docker.DockerClient) -> None:
    assert engine_client.info()["DockerRootDir"] == str(engine.root / "data")
    outside = addresses()
    with engine.enter():
        inside = addresses()
    assert "docker0" in inside
    assert engine.network.inner in inside
    assert engine.network.inner not in outside.split()
    assert addresses() == outside


def test_programs_started_inside_stay_inside(engine: TestEngine, free_ports: Ports) -> None:
    with engine.enter(), socket.create_server(("127.0.0.1", free_ports(1))) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
        child = subprocess.run(["ip", "-brief", "address"], capture_output=True, text=True, check=True).stdout
    assert "docker0" in child
    assert port >= 12_000


def test_the_namespace_has_a_way_out(engine: TestEngine) -> None:
    resolver = next(
        line.split()[1] for line in Path("/etc/resolv.conf").read_text().splitlines() if line.startswith("nameserver")
    )
    with engine.enter(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.settimeout(10)
        asked.connect((resolver, 53))
        asked.send(bytes.fromhex("123401000001000000000000") + b"\x09localhost\x00" + bytes.fromhex("00010001"))
        assert asked.recv(512)[:2] == bytes.fromhex("1234")


@pytest.mark.engine
def test_an_engine_that_was_killed_comes_back_and_leaves_nothing(run_directory: Path) -> None:
    engine = TestEngine(run_directory / "second")
    engine.start()
    try:
        engine.kill()
        assert not leftovers.processes_naming(engine.root / "data")
        engine.start()
        engine.restart()
        assert engine.client().ping()
    finally:
        engine.stop()
    assert not engine.network.path.exists()
    assert not leftovers.engine_processes(engine.root, engine.network)
    assert f" {engine.root}/" not in Path("/proc/self/mountinfo").read_text()
    for table in ("nat", "filter"):
        rules = subprocess.run(["iptables", "-w", "-t", table, "-S"], capture_output=True, text=True, check=True).stdout
        assert engine.namespace not in rules


@pytest.mark.engine
def test_an_engine_in_use_refuses_a_second_user(run_directory: Path) -> None:
    with leftovers.locked(run_directory / "third"), pytest.raises(leftovers.LockedError, match="BANCADA_TESTS="):
        TestEngine(run_directory / "third").start()


def test_every_database_is_new(postgres: Postgres) -> None:
    first, second = postgres.new_database(), postgres.new_database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE kept (n int)")
    with psycopg.connect(second) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'kept'").fetchone()
    assert tables == (0,)


@pytest.mark.database
def test_the_database_server_keeps_its_data_over_a_stop(run_directory: Path, free_ports: Ports) -> None:
    server = Postgres(run_directory / "pg2", free_ports(1)).start()
    url = server.new_database()
    server.stop()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=2)
    server.start()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.stop()
