"""A stand-in for NVIDIA's driver library, built once; each test writes its scenario."""

import pytest

from tests.standin.nvml.driver import StandInDriver, build


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def driver(library, tmp_path):
    return StandInDriver(library, tmp_path / "scenario.json")
