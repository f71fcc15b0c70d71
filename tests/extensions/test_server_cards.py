"""Whether a server notices that it lost its cards, through the stand-in for NVIDIA's library."""

import os
import time
from pathlib import Path

import pytest

from bancada.contract import CARDS_NO_LIBRARY, CARDS_SILENT
from bancada.server.cards import cards_error
from tests.standin.nvml.driver import StandInDriver, build, card, scenario, uuid

WITH_CARD = {**os.environ, "NVIDIA_VISIBLE_DEVICES": uuid(0)}


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> StandInDriver:
    folder = tmp_path_factory.mktemp("nvml")
    return StandInDriver(build(folder), folder / "scenario.json")


def error(driver: StandInDriver, deadline_s: float = 15.0, **more: object) -> int:
    driver.write(scenario(card(0), **more))
    return cards_error({**WITH_CARD, **driver.environment}, deadline_s)


def test_a_server_that_reaches_its_card_says_so(driver: StandInDriver) -> None:
    assert error(driver) == 0


def test_a_server_whose_card_was_taken_away_reports_the_error_b1(driver: StandInDriver) -> None:
    assert error(driver, functions={"nvmlInit_v2": {"error": 999}}) == 999


def test_a_server_without_the_library_says_exactly_that_b15(tmp_path: Path) -> None:
    assert cards_error({**WITH_CARD, "LD_LIBRARY_PATH": str(tmp_path)}) == CARDS_NO_LIBRARY


def test_a_driver_that_hangs_does_not_hang_the_server_b10(driver: StandInDriver) -> None:
    begun = time.monotonic()
    assert error(driver, deadline_s=1.0, functions={"nvmlInit_v2": {"hang": True}}) == CARDS_SILENT
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("cards", ["", "void", "none"])
def test_a_server_without_a_card_asks_nothing(driver: StandInDriver, cards: str) -> None:
    driver.write(scenario(card(0), functions={"nvmlInit_v2": {"error": 999}}))
    assert cards_error({**os.environ, **driver.environment, "NVIDIA_VISIBLE_DEVICES": cards}) == 0
