"""Reading cards through the unmodified bindings, over a stand-in for the driver's library."""

import json
import os
import subprocess
import sys
import time

import pynvml
import pytest

from bancada_hub.errors import HostError
from bancada_hub.gpus.inventory import State, resolve, with_expected
from bancada_hub.gpus.nvml import Deadlines, read_inventory
from bancada_hub.gpus.worker import bindings
from tests.standin.nvml.driver import GIB, card, scenario, uuid

QUICK = Deadlines(start_s=10, card_s=1)


def read(driver, *cards, root=None, **more):
    driver.write(scenario(*cards, **more))
    return read_inventory(root or driver.file.parent, QUICK, driver.environment)


def test_a_machine_without_a_driver_says_so(tmp_path):
    found = read_inventory(tmp_path)
    assert found.as_json() == {
        "cards": [], "reason": "No NVIDIA driver on this host (libnvidia-ml.so.1 not found)",
    }  # fmt: skip


def test_all_of_a_card_is_read(driver):
    one = card(1, nvlinks=[{"active": True, "remote": "00000000:3B:00.0"}], processes=[{"pid": 645400}])
    found = read(driver, card(0), one, card(2))
    assert (found.driver, found.reason, found.set_aside) == ("550.90.07", None, ())
    first, second, _third = found.cards
    assert (second.uuid, second.model, second.capability) == (uuid(1), "NVIDIA A100 80GB PCIe", "8.0")
    assert (second.memory_bytes, second.used_bytes, second.reserved_bytes) == (80 * GIB, 8_000_000, 900_000_000)
    assert (second.pci, second.numa_node, second.use_ratio) == ("00000000:3c:00.0", 0, 0.0)
    assert second.near == ((uuid(0), 10), (uuid(2), 50))
    assert first.near == ((uuid(1), 10), (uuid(2), 50))
    assert second.nvlinks == ("00000000:3b:00.0",)
    assert second.processes == (645400,)
    assert second.health.state is State.GOOD


def test_a_lost_card_does_not_hide_the_others_b9(driver):
    found = read(driver, card(0), card(1), card(2, lost=True), card(3))
    assert [each.uuid for each in found.cards] == [uuid(0), uuid(1), uuid(3)]
    (aside,) = found.set_aside
    assert aside.index == 2
    assert "fell off the bus" in aside.reason


def test_a_card_that_is_not_counted_any_more_is_missed_b9(driver):
    found = with_expected(read(driver, card(0)), [uuid(0), uuid(7)])
    assert [(each.uuid, "no longer finds" in each.reason) for each in found.set_aside] == [(uuid(7), True)]


def test_a_card_that_hangs_is_set_aside_within_the_deadline_b10(driver):
    hangs = {"functions": {"nvmlDeviceGetRemappedRows": {"hang": True}}}
    begun = time.monotonic()
    found = read(driver, card(0), card(1, **hangs), card(2))
    assert time.monotonic() - begun < 8
    assert [each.uuid for each in found.cards] == [uuid(0), uuid(2)]
    assert [(each.index, "NVML is not answering" in each.reason) for each in found.set_aside] == [(1, True)]
    assert found.cards[1].near == ((uuid(0), 50),)


def test_a_driver_that_hangs_gets_an_answer_in_words_b10(driver):
    driver.write(scenario(card(0), functions={"nvmlInit_v2": {"hang": True}}))
    begun = time.monotonic()
    found = read_inventory(driver.file.parent, Deadlines(start_s=1, card_s=1), driver.environment)
    assert time.monotonic() - begun < 5
    assert found.reason == "The NVIDIA driver of this host did not answer within its deadline."


def test_unknown_error_at_init_says_what_takes_cards_from_containers_b1(driver):
    found = read(driver, card(0), functions={"nvmlInit_v2": {"error": 999}})
    assert found.cards == ()
    assert "Unknown Error" in found.reason
    assert "restart it" in found.reason


def test_a_mismatch_names_both_versions_b2(driver, tmp_path):
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
    (tmp_path / "proc/driver/nvidia/version").write_text(line)
    wrong = {"nvmlInit_v2": {"error": 18}}
    found = read(driver, card(0), root=tmp_path, functions=wrong, nvml="12.550.107.02")
    assert "kernel is 550.90.07 and its library is 550.107.02" in found.reason


def test_a_loaded_driver_without_its_library_names_the_capability_b15(tmp_path):
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text("NVRM version: Kernel Module  550.90.07  Fri May 31\n")
    assert "NVIDIA_DRIVER_CAPABILITIES must have “utility”" in read_inventory(tmp_path).reason


def test_mig_reports_no_use_and_memory_per_instance_b3(driver):
    part = {"uuid": "MIG-a1", "name": "MIG 3g.40gb", "memory": {"total": 40 * GIB, "used": GIB}}
    (found,) = read(driver, card(0, mig_mode=1, utilization=0, mig=[part])).cards
    assert (found.use_ratio, found.why("use_ratio")) == (None, "MIG does not report use")
    (instance,) = found.instances
    assert (instance.uuid, instance.memory_bytes, instance.used_bytes) == ("MIG-a1", 40 * GIB, GIB)


def test_what_the_driver_marks_as_not_available_is_none_b4(driver):
    (found,) = read(driver, card(0, memory={"total": 80 * GIB, "used": 2**64 - 1})).cards
    assert found.used_bytes is None


def test_pids_are_the_hosts_and_are_not_looked_up_here_b5(driver):
    (found,) = read(driver, card(0, processes=[{"pid": 4_100_000}])).cards
    assert found.processes == (4_100_000,)


@pytest.mark.parametrize("wanted", [uuid(1), uuid(1).upper(), uuid(1)[:12], uuid(1).removeprefix("GPU-")[:8]])
def test_a_card_is_found_by_uuid_in_any_order_b8(driver, wanted):
    for cards in ((card(0), card(1)), (card(1), card(0))):
        assert resolve(read(driver, *cards), wanted).uuid == uuid(1)


@pytest.mark.parametrize("wanted", ["1", "GPU", "GPU-ffffffff", uuid(1)[:8], ""])
def test_a_number_or_an_unknown_prefix_is_refused_b8(driver, wanted):
    with pytest.raises(HostError):
        resolve(read(driver, card(0), card(1)), wanted)


@pytest.mark.parametrize(
    ("rows", "state", "leasable"),
    [
        ({"corrected": 0, "uncorrected": 4, "pending": True, "failed": False}, State.ATTENTION, False),
        ({"corrected": 0, "uncorrected": 1, "pending": False, "failed": False}, State.GOOD, True),
        ({"corrected": 0, "uncorrected": 1, "pending": False, "failed": True}, State.BAD, False),
        (None, State.UNKNOWN, True),
    ],
)
def test_memory_repairs_decide_not_counts_of_errors_b13(driver, rows, state, leasable):
    (found,) = read(driver, card(0, remapped=rows, ecc=None)).cards
    assert (found.health.state, found.health.leasable) == (state, leasable)


def test_one_value_that_is_not_supported_leaves_the_rest_b14(driver):
    (found,) = read(driver, card(0, utilization=None, numa_node=None, capability=None)).cards
    assert (found.use_ratio, found.numa_node, found.capability) == (None, None, None)
    assert found.why("use_ratio") == "Not Supported"
    assert found.memory_bytes == 80 * GIB


def test_cards_that_only_the_system_joins_say_so_g8(driver):
    first, _second = read(driver, card(0), card(1), topology=[[0, 50], [50, 0]]).cards
    assert first.near == ((uuid(1), 50),)


def test_another_packages_pynvml_is_told_apart(tmp_path, monkeypatch):
    (tmp_path / "pynvml.py").write_text("def nvmlInit(): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pynvml")
    with pytest.raises(ImportError, match=r"pynvml\.py is not that of nvidia-ml-py"):
        bindings()


def test_the_library_hears_of_a_new_scenario_and_of_xids(driver):
    driver.write(scenario(card(0)))
    script = """
import json, pynvml as n
n.nvmlInit(); h = n.nvmlDeviceGetHandleByIndex(0); s = n.nvmlEventSetCreate()
n.nvmlDeviceRegisterEvents(h, n.nvmlEventTypeXidCriticalError, s)
print(n.nvmlDeviceGetTemperature(h, 0), flush=True); input()
e = n.nvmlEventSetWait_v2(s, 2000)
print(n.nvmlDeviceGetTemperature(h, 0), e.eventType, e.eventData)
"""
    asker = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, **driver.environment}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert asker.stdout.readline() == "34\n"
    driver.write(scenario(card(0, temperature=91), events=[{"card": 0, "type": 8, "data": 79}]))
    assert asker.communicate("\n", timeout=10)[0] == "91 8 79\n"


def test_the_command_lists_and_shows(driver):
    driver.write(scenario(card(0), card(1, lost=True)))

    def bancada(*arguments):
        command = [sys.executable, "-m", "bancada.cli", "gpu", *arguments]
        environment = {**os.environ, **driver.environment}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    listed = bancada("list").stdout
    assert f"{uuid(0)}  NVIDIA A100 80GB PCIe  0.0 of 80.0 GiB  0%   good" in listed
    assert "set aside: card 1: This card fell off the bus" in listed
    assert [each["uuid"] for each in json.loads(bancada("list", "--json").stdout)["cards"]] == [uuid(0)]
    assert json.loads(bancada("show", uuid(0)[:10], "--json").stdout)["health"]["state"] == "good"
    assert f"{uuid(0)} (card 0 now)" in bancada("show", uuid(0)).stdout
    wrong = bancada("show", "GPU-ffffffff")
    assert (wrong.returncode, wrong.stderr.splitlines()[0]) == (1, "error: There is no card GPU-ffffffff.")


def test_every_function_of_the_bindings_is_there(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert {"nvmlInit_v2", "nvmlDeviceGetPcieThroughput", "nvmlVgpuInstanceGetVmID"} <= names
    assert pynvml.__file__
