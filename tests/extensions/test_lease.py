"""A server sees exactly its lease, asked through the stand-in for NVIDIA's library."""

import os
import time
from pathlib import Path

import pytest

from bancada.contract import StartFailure
from bancada.server.lease import check_lease, compare
from tests.standin.nvml.driver import StandInDriver, build, card, scenario, uuid

PART, OTHER = "MIG-11111111-aaaa", "MIG-22222222-bbbb"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> StandInDriver:
    folder = tmp_path_factory.mktemp("nvml")
    return StandInDriver(build(folder), folder / "scenario.json")


def failure(driver: StandInDriver, leased: str, *numbers: int, deadline_s: float = 30.0, **more: object) -> str:
    driver.write(scenario(*(card(number) for number in numbers), **more))
    variables = {**os.environ, **driver.environment, "NVIDIA_VISIBLE_DEVICES": leased}
    found = check_lease(variables, deadline_s)
    assert found is None or (isinstance(found, StartFailure) and found.reason == "cards")
    return found.sentence if found else ""


def test_the_cards_of_the_lease_are_all_there_is(driver: StandInDriver) -> None:
    assert failure(driver, uuid(0), 0) == ""
    assert failure(driver, f"{uuid(1)},{uuid(0)}", 0, 1) == ""


def test_a_card_too_many_or_another_one_keeps_the_server_from_starting_d16(driver: StandInDriver) -> None:
    assert failure(driver, uuid(0), 0, 1).startswith(f"The server sees {uuid(1)} and has no lease of it.")
    assert failure(driver, uuid(0), 1).startswith(f"The server does not see {uuid(0)}")
    assert failure(driver, f"{uuid(0)},{uuid(1)}", 0).startswith(f"The server does not see {uuid(1)}")
    assert failure(driver, uuid(0)).startswith("The server does not see")


def test_a_driver_that_refuses_or_hangs_is_said(driver: StandInDriver, tmp_path: Path) -> None:
    said = failure(driver, uuid(0), 0, functions={"nvmlInit_v2": {"error": 18}})
    assert "the driver's library answers 18" in said
    begun = time.monotonic()
    hang = {"nvmlInit_v2": {"hang": True}}
    assert "has not answered within 1 s" in failure(driver, uuid(0), 0, deadline_s=1.0, functions=hang)
    assert time.monotonic() - begun < 10
    variables = {**os.environ, "NVIDIA_VISIBLE_DEVICES": uuid(0), "LD_LIBRARY_PATH": str(tmp_path)}
    found = check_lease(variables)
    assert found
    assert "libnvidia-ml.so.1" in found.sentence


@pytest.mark.parametrize("leased", ["", "void", "none"])
def test_without_a_lease_nothing_is_asked(driver: StandInDriver, leased: str) -> None:
    assert failure(driver, leased, 0, functions={"nvmlInit_v2": {"error": 999}}) == ""


@pytest.mark.parametrize(
    ("leased", "seen", "good"),
    [
        ({PART}, {uuid(0), PART}, True),
        ({PART}, {uuid(0), PART, OTHER}, False),
        ({PART}, {uuid(0)}, False),
        ({uuid(0)}, {uuid(0), PART}, False),
    ],
)
def test_a_part_of_a_card_comes_with_the_name_of_its_card(leased: set[str], seen: set[str], good: bool) -> None:
    assert (compare(frozenset(leased), frozenset(seen)) is None) is good
