"""The firewall as nftables holds it: put in force, taken away by others, put back, told apart."""

import ipaddress
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bancada_hub.errors import HostError
from bancada_hub.host import firewall
from bancada_hub.host.firewall import Firewall, Kept
from bancada_hub.host.firewall_rules import NO_RESOLVER, Wall
from tests.engine import TestEngine

WALL = Wall("5e55104b", "bnc-5e55104b", "10.89.41.0/24", "10.89.41.1", ports=(8003, 8004))
TABLE = ("inet", "bancada_5e55104b")


class Rules:
    """A firewall whose rules a test changes."""

    def __init__(self, directory: Path) -> None:
        self.wall = WALL
        self.addresses: dict[str, dict[str, float]] = {}
        self.firewall = Firewall(WALL.site_id, directory, self.describe)

    def describe(self, kept: Kept) -> tuple[Wall, Kept]:
        return self.wall, Kept(kept.rules, kept.listed, self.addresses)


def nft(*words: str) -> str:
    return subprocess.run(["nft", *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def rules(engine: TestEngine, inside: None, tmp_path: Path) -> Iterator[Rules]:
    rules = Rules(tmp_path / "run")
    yield rules
    rules.firewall.remove()


def test_in_force_once_put_and_not_before(rules: Rules) -> None:
    assert not rules.firewall.in_force()
    assert rules.firewall.ensure()
    assert rules.firewall.in_force()
    assert not rules.firewall.ensure()
    assert not rules.firewall.hold()


def test_another_program_of_the_site_sees_the_same(rules: Rules, tmp_path: Path) -> None:
    rules.firewall.ensure()
    other = Rules(tmp_path / "run").firewall
    assert other.in_force()
    assert not other.hold()


@pytest.mark.parametrize(
    "harm",
    [
        ("delete", "table", *TABLE),
        ("flush", "table", *TABLE),
        ("flush", "chain", *TABLE, "onward"),
        ("insert", "rule", *TABLE, "onward", "accept"),
        ("add", "element", *TABLE, "resolvers", "{ 10.9.9.9 }"),
    ],
)
def test_what_others_do_to_the_rules_is_noticed_and_undone(rules: Rules, harm: tuple[str, ...]) -> None:
    """D19: firewalld, ufw or an administrator's `nft flush ruleset` must not open anything for long."""
    rules.firewall.ensure()
    whole = nft("list", "table", *TABLE)
    nft(*harm)
    assert not rules.firewall.in_force()
    assert rules.firewall.hold()
    assert rules.firewall.in_force()
    assert nft("list", "table", *TABLE) == whole


def test_containers_that_the_kernel_no_longer_shows_us_are_noticed(rules: Rules) -> None:
    rules.firewall.ensure()
    switch = firewall.BRIDGED / "bridge-nf-call-iptables"
    switch.write_text("0")
    assert not rules.firewall.in_force()
    rules.firewall.hold()
    assert switch.read_text().strip() == "1"
    assert rules.firewall.in_force()


def test_changed_settings_change_the_rules_and_a_start_alone_does_not(rules: Rules) -> None:
    rules.firewall.ensure()
    rules.wall = replace(WALL, denied=("10.0.0.0/8",))
    assert not rules.firewall.hold()
    assert "10.0.0.0/8" not in nft("list", "table", *TABLE)
    assert rules.firewall.ensure()
    assert "10.0.0.0/8" in nft("list", "table", *TABLE)


def test_addresses_are_kept_for_when_a_name_server_is_silent(rules: Rules, tmp_path: Path) -> None:
    rules.firewall.ensure()
    rules.addresses = {"mirror.example": {"10.5.5.5": 1.0}}
    assert not rules.firewall.ensure()
    seen: list[Kept] = []
    Firewall(WALL.site_id, tmp_path / "run", lambda kept: (seen.append(kept), rules.describe(kept))[1]).ensure()
    assert seen[0].addresses == rules.addresses


def test_a_record_that_cannot_be_read_is_made_again(rules: Rules, tmp_path: Path) -> None:
    rules.firewall.ensure()
    (tmp_path / "run" / "firewall.json").write_text('{"rules": ')
    assert rules.firewall.hold()
    assert rules.firewall.in_force()


def test_nothing_on_this_machine_answers_where_servers_without_names_ask(rules: Rules) -> None:
    """A name server on all addresses would answer an engine that forwards questions from here."""
    rules.firewall.ensure()
    beside = str(ipaddress.ip_address(NO_RESOLVER) - 1)
    with socket.create_server((NO_RESOLVER, 0)) as listener, socket.create_server((beside, 0)) as other:
        socket.create_connection(other.getsockname(), timeout=5).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(listener.getsockname(), timeout=5)


def test_down_removes_the_table_and_only_it(rules: Rules) -> None:
    rules.firewall.ensure()
    before = nft("list", "tables").splitlines()
    rules.firewall.remove()
    assert nft("list", "tables").splitlines() == [line for line in before if line != f"table {' '.join(TABLE)}"]
    rules.firewall.remove()  # twice is once
    assert not rules.firewall.in_force()


def test_rules_that_nftables_refuses_leave_what_was(rules: Rules) -> None:
    rules.firewall.ensure()
    rules.wall = replace(WALL, denied=("10.0.0.0/8",), bridge="a name that is much too long for it")
    with pytest.raises(HostError, match="nftables does not take the site's firewall rules"):
        rules.firewall.ensure()
    assert rules.firewall.in_force()


def test_a_machine_without_nft(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(firewall, "SYSTEM_PATH", "/nowhere")
    assert not firewall.has_nft()
    with pytest.raises(HostError, match="The program nft") as caught:
        rules.firewall.ensure()
    assert "./bancada up" in caught.value.fix
    monkeypatch.undo()


def test_a_look_before_a_start_takes_milliseconds(rules: Rules) -> None:
    rules.firewall.ensure()
    spent = []
    for _ in range(5):
        begun = time.perf_counter()
        rules.firewall.hold()
        spent.append(time.perf_counter() - begun)
    assert sorted(spent)[1] < 0.25, spent  # about 0.006 on an idle machine
