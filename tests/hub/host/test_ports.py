"""Ports that are free, taken by others, or held by the site itself: with real sockets."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bancada_hub.errors import HostError
from bancada_hub.host.ports import Ports, check_ports, free_or_raise
from bancada_hub.host.services import services_for

LISTEN = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); print(); time.sleep(600)"


def free_base() -> int:
    """Return a base port, outside the range of outgoing connections, that has room for a site and the next one."""
    for base in range(21000, 29000, 40):
        try:
            for port in range(base, base + 40):
                with socket.create_server(("127.0.0.1", port)):
                    pass
        except OSError:
            continue
        return base
    raise AssertionError("no free ports on this machine")


@pytest.fixture
def base() -> int:
    return free_base()


@pytest.fixture
def holder(base: int) -> Iterator[psutil.Process]:
    """A process of somebody else that listens on the base port."""
    with subprocess.Popen([sys.executable, "-c", LISTEN, str(base)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield psutil.Process(process.pid)
        process.kill()


def test_five_ports_from_the_base() -> None:
    assert Ports.from_base(8000) == Ports(public=8000, proxy_api=8001, console=8002, hub=8003, server_api=8004)


def test_free_port(base: int) -> None:
    free_or_raise("127.0.0.1", base)


def test_taken_port_names_its_holder_and_free_ones(base: int, holder: psutil.Process) -> None:
    with pytest.raises(HostError) as caught:
        free_or_raise("127.0.0.1", base)
    assert caught.value.what.startswith(
        f"Port {base} on 127.0.0.1 is in use by {holder.name()} (process {holder.pid}: {sys.executable} -c import"
    )
    assert caught.value.fix == (
        f"End that process, or choose another with --port N; {base + 10} to {base + 14} are free: --port {base + 10}."
    )


def test_proposal_skips_what_is_partly_taken(base: int, holder: psutil.Process) -> None:
    with socket.create_server(("127.0.0.1", base + 12)), pytest.raises(HostError) as caught:
        free_or_raise("127.0.0.1", base, base=base)
    assert caught.value.fix.endswith(f"{base + 20} to {base + 24} are free: --port {base + 20}.")


def test_port_of_our_own_process(base: int, holder: psutil.Process) -> None:
    free_or_raise("127.0.0.1", base, ours={holder.pid})


def test_address_of_another_machine(base: int) -> None:
    with pytest.raises(HostError) as caught:
        free_or_raise("192.0.2.1", base)
    assert str(caught.value) == (
        "This machine does not have the address 192.0.2.1.\n"
        'Set another in bancada.toml, such as bind = "127.0.0.1"; this machine\'s are shown by: ip address'
    )


def test_small_port_for_an_ordinary_user() -> None:
    os.seteuid(65534)
    try:
        with pytest.raises(HostError) as caught:
            free_or_raise("127.0.0.1", 443)
    finally:
        os.seteuid(0)
    assert str(caught.value) == ("Only root may listen on port 443.\nRun it as root, or choose another with --port N.")


def test_any_of_the_five_stops_a_site(base: int, holder: psutil.Process, tmp_path: Path) -> None:
    services = services_for("00000000", tmp_path)
    check_ports("127.0.0.1", "127.0.0.1", Ports.from_base(base + 10), services)
    with pytest.raises(HostError, match=rf"Port {base} on 127\.0\.0\.1 is in use by"):
        check_ports("127.0.0.1", "127.0.0.1", Ports.from_base(base - 4), services)
