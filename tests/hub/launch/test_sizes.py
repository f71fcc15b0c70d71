"""Sizes: half, as set, and double, and never more than the machine has for servers."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.host.machine import Machine
from bancada_hub.launch.sizes import SIZES, USUAL, Capacity, Size, capacity, default_size, sizes
from bancada_hub.site import ServerSettings
from tests.hub.launch.examples import GIB, ULIMITS

machines = st.builds(Machine, st.integers(GIB // 4, 4096 * GIB), st.floats(0.1, 512))
settings = st.builds(
    ServerSettings,
    memory_gib=st.floats(0.1, 2048),
    cpus=st.floats(0.1, 256),
    memory_reserve_gib=st.none() | st.floats(0, 512),
    cpu_overcommit=st.floats(1, 64),
)


def test_s_is_half_and_l_the_double_of_what_is_set() -> None:
    found = sizes(ServerSettings(memory_gib=4, cpus=2, shm_ratio=0.5), Machine(64 * GIB, 16), ULIMITS)
    assert [(each.memory_bytes // GIB, each.cpus, each.shm_bytes // GIB) for each in (found.s, found.m, found.l)] == [
        (2, 1, 1),
        (4, 2, 2),
        (8, 4, 4),
    ]


@given(settings, machines)
def test_every_size_fits_the_machine_alone_and_they_grow(site: ServerSettings, machine: Machine) -> None:
    found, most = sizes(site, machine, ULIMITS), capacity(site, machine)
    each = [found.of(size) for size in SIZES]
    assert all(0 < one.memory_bytes <= most.memory_bytes for one in each)
    assert all(0 < one.cpus <= machine.cores for one in each)
    assert [one.memory_bytes for one in each] == sorted(one.memory_bytes for one in each)
    assert [one.cpus for one in each] == sorted(one.cpus for one in each)


@pytest.mark.parametrize(
    ("memory_gib", "reserve_gib", "left_gib"),
    [(23, None, 20.7), (10, None, 8), (128, None, 115.2), (3, None, 1.5), (64, 0, 64), (64, 16, 48), (8, 100, 4)],
)
def test_what_stays_for_the_machine(memory_gib: float, reserve_gib: float | None, left_gib: float) -> None:
    found = capacity(ServerSettings(memory_reserve_gib=reserve_gib), Machine(int(memory_gib * GIB), 2))
    assert found == Capacity(pytest.approx(left_gib * GIB, abs=2), 8.0)


def test_the_default_is_the_size_before_else_the_usual() -> None:
    assert [default_size(last) for last in ("s", "m", "l", "", "xl")] == ["s", "m", "l", USUAL, USUAL]
    assert get_args(Size) == SIZES
