"""What a host with cards lacks, each missing piece by itself; the toolkit's installation; a container as proof."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from bancada_hub.errors import HostError
from bancada_hub.host import daemon, probe
from bancada_hub.host.gpu_host import GpuHost, check_host, read_host
from bancada_hub.host.gpu_toolkit import CONFIGURE, Hand, mend, prove, steps_for
from tests.engine import TestEngine
from tests.standin.nvml.driver import card, scenario, uuid

WHOLE = GpuHost(
    cards=("0000:3b:00.0",),
    module="570.86.15",
    library="570.86.15",
    toolkit="1.17.4",
    hook=True,
    runtimes=("runc", "nvidia"),
    api=(1, 41),
)


def wrong(found: GpuHost) -> dict[str, str]:
    return {check.name: f"{check.detail} {check.fix}" for check in check_host(found) if not check.ok}


def test_a_host_without_a_card_lacks_nothing() -> None:
    (check,) = check_host(GpuHost())
    assert (check.name, check.ok) == ("gpu-card", True)


def test_a_host_with_everything_is_well() -> None:
    assert [check.name for check in check_host(WHOLE)] == [
        *("gpu-card", "gpu-driver", "gpu-library", "gpu-toolkit", "gpu-engine")
    ]
    assert wrong(WHOLE) == {}
    assert steps_for(WHOLE) == ()


@pytest.mark.parametrize(
    ("changes", "name", "says"),
    [
        ({"module": "", "library": ""}, "gpu-driver", "apt-get install nvidia-driver"),
        ({"library": ""}, "gpu-library", "nvidia-smi"),
        ({"library": "570.90.01"}, "gpu-library", "restart the machine"),
        ({"toolkit": "", "runtimes": (), "hook": False}, "gpu-toolkit", "./bancada doctor gpu --install"),
        ({"runtimes": ("runc",), "hook": False}, "gpu-engine", "nvidia-ctk runtime configure"),
        ({"runtimes": ("runc",), "hook": False, "cdi": True}, "gpu-engine", "nvidia-ctk runtime configure"),
    ],
)
def test_each_missing_piece_is_named_with_its_command_b15(changes: dict, name: str, says: str) -> None:
    found = wrong(replace(WHOLE, **changes))
    assert says in found[name]


def test_newer_engines_find_cards_by_cdi_and_older_ones_by_the_hook() -> None:
    assert wrong(replace(WHOLE, runtimes=("runc",), hook=False, cdi=True, api=(1, 44))) == {}
    assert wrong(replace(WHOLE, runtimes=("runc",), hook=True)) == {}
    assert "gpu-engine" in wrong(replace(WHOLE, runtimes=("runc",), hook=True, api=(1, 48)))


def test_the_driver_is_never_installed_and_comes_first() -> None:
    assert steps_for(replace(WHOLE, module="", library="", toolkit="", runtimes=())) == ()
    assert steps_for(replace(WHOLE, library="1.0", toolkit="", runtimes=())) == ()
    assert steps_for(replace(WHOLE, toolkit="", runtimes=(), hook=False)) == ("toolkit", "configure", "restart")
    assert steps_for(replace(WHOLE, runtimes=(), hook=False)) == ("configure", "restart")


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_facts_are_read_from_a_machines_files_and_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, vendor, kind in (("0000:3b:00.0", "0x10de", "0x030200"), ("0000:3b:00.1", "0x10de", "0x040300")):
        device = tmp_path / "sys/bus/pci/devices" / name
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "class").write_text(f"{kind}\n")
    version = tmp_path / "proc/driver/nvidia/version"
    version.parent.mkdir(parents=True)
    version.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 2025\n")
    (tmp_path / "etc/cdi").mkdir(parents=True)
    (tmp_path / "etc/cdi/nvidia.yaml").touch()
    programs = tmp_path / "bin"
    programs.mkdir()
    program(programs, "nvidia-ctk", 'echo "NVIDIA Container Toolkit CLI version 1.17.4"')
    program(programs, "nvidia-container-runtime-hook", "")
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    found = read_host({"Runtimes": {"runc": {}, "nvidia": {}}, "ApiVersion": "1.41"}, "570.86.15", "", tmp_path)
    assert found == replace(WHOLE, cdi=True)


def test_mending_configures_asks_before_a_restart_and_says_whom_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, asked = tmp_path / "log", []
    program(tmp_path, "nvidia-ctk", f'echo "$@" >> {log}')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    lacking = replace(WHOLE, runtimes=(), hook=False)

    def agree_but_to_a_restart(question: str) -> bool:
        asked.append(question)
        return "Restart" not in question

    hand = Hand(agreed=False, ask=agree_but_to_a_restart, say=lambda _text: None)
    with pytest.raises(HostError) as refused:
        mend(lacking, ["bancada-1-ana", "bancada-1-bea"], survive=False, hand=hand)
    assert refused.value.fix == "systemctl restart docker"
    assert log.read_text().split() == list(CONFIGURE[1:])
    assert "This stops 2: bancada-1-ana, bancada-1-bea." in asked[-1]
    with pytest.raises(HostError):
        mend(lacking, ["bancada-1-ana"], survive=True, hand=hand)
    assert "stops" not in asked[-1]
    program(tmp_path, "systemctl", "exit 0")
    monkeypatch.setattr(daemon, "has_systemd", lambda: True)
    told: list[str] = []
    mend(lacking, ["bancada-1-ana"], survive=False, hand=Hand(agreed=True, ask=None, say=told.append))
    assert told[-1] == "systemctl restart docker. This stops 1: bancada-1-ana.", "also when nothing is asked"
    program(tmp_path, "nvidia-ctk", "echo 'no such file' >&2; exit 1")
    with pytest.raises(HostError, match="failed: no such file"):
        mend(lacking, [], survive=True, hand=hand)
    with pytest.raises(HostError, match="nobody agreed"):
        mend(lacking, [], survive=True, hand=Hand(agreed=False, ask=None, say=lambda _text: None))


@pytest.fixture
def machine(engine: TestEngine) -> Iterator[None]:
    engine.cards_file.write_text(json.dumps(scenario(card(0), card(1))))
    yield
    engine.cards_file.unlink()


@pytest.mark.engine
@pytest.mark.usefixtures("machine")
def test_a_container_proves_that_one_asked_card_is_seen_alone(engine_client: docker.DockerClient) -> None:
    with probe._image(engine_client, "bancada-test-proof", None) as image:
        assert prove(engine_client, image, uuid(1)).ok
        missing = prove(engine_client, image, uuid(9))
        assert not missing.ok
        assert "unknown device" in missing.detail
    assert engine_client.containers.list(all=True, filters={"ancestor": "bancada-test-proof:probe"}) == []
