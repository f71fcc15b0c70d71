"""Debian's packages on this machine, with the real dpkg and apt."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bancada_hub.errors import HostError
from bancada_hub.host import debian

REASON = "Servers run in containers."
ABSENT = "bancada-no-such-package"


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_missing_keeps_the_order_and_names_only_what_is_not_installed() -> None:
    assert debian.missing(["zz-no-such", "dpkg", ABSENT, "bash"]) == ["zz-no-such", ABSENT]
    assert debian.missing(["dpkg"]) == []


def test_installed_packages_ask_nothing() -> None:
    debian.install(["dpkg", "bash"], reason=REASON, agreed=False, ask=None)


@pytest.mark.usefixtures("ordinary_user")
def test_ordinary_user_gets_the_command() -> None:
    with pytest.raises(HostError) as caught:
        debian.install(["dpkg", ABSENT], reason=REASON, agreed=True, ask=None)
    assert str(caught.value) == (
        "Servers run in containers. This needs Debian's packages bancada-no-such-package; only root may install them.\n"
        "sudo apt-get install -y --no-install-recommends bancada-no-such-package"
    )


def test_no_terminal_and_no_yes_is_a_refusal() -> None:
    with pytest.raises(HostError) as caught:
        debian.install([ABSENT, "zz-no-such"], reason=REASON, agreed=False, ask=None)
    assert str(caught.value) == (
        "Servers run in containers. This needs Debian's packages bancada-no-such-package and zz-no-such, "
        "and nobody agreed to install them.\n"
        "Run the same command with --yes, or install them yourself: "
        "apt-get install -y --no-install-recommends bancada-no-such-package zz-no-such"
    )


def test_a_no_on_the_terminal_is_a_refusal() -> None:
    questions: list[str] = []

    def ask(question: str) -> bool:
        questions.append(question)
        return False

    with pytest.raises(HostError, match="nobody agreed to install them"):
        debian.install([ABSENT], reason=REASON, agreed=False, ask=ask)
    assert questions == [
        "Servers run in containers. This needs Debian's packages bancada-no-such-package. Install them now?"
    ]


def test_failed_installation_shows_what_apt_said() -> None:
    with pytest.raises(HostError) as caught:
        debian.install([ABSENT], reason=REASON, agreed=True, ask=None)
    assert caught.value.what.startswith("apt-get could not install bancada-no-such-package. It said:\n")
    assert caught.value.what.endswith("E: Unable to locate package bancada-no-such-package")
    assert caught.value.fix == ("Mend that, then: apt-get install -y --no-install-recommends bancada-no-such-package")


def test_other_systems_are_told_the_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not debian.is_debian()
    with pytest.raises(HostError) as caught:
        debian.install(["docker.io", "iptables"], reason=REASON, agreed=True, ask=None)
    assert str(caught.value) == (
        "Servers run in containers. This needs docker.io and iptables, "
        "and this system has no apt-get to install them with.\n"
        "Install docker.io and iptables with this system's own tool, then run the same command again."
    )
