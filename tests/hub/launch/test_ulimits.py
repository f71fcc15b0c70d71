"""Limits go as far as the engine may raise them."""

import pytest

from bancada_hub.launch.plan import Ulimit
from bancada_hub.launch.ulimits import can_raise, granted, server_ulimits


@pytest.mark.parametrize(
    ("wanted", "most", "value"),
    [(-1, None, -1), (-1, -1, -1), (-1, 65_536, 65_536), (1024, None, 1024), (1024, 512, 512), (1024, -1, 1024)],
)
def test_a_limit_is_as_near_to_what_is_wanted_as_it_may_be(wanted: int, most: int | None, value: int) -> None:
    assert granted("memlock", wanted, most) == Ulimit("memlock", value, value)


def test_who_may_raise_limits() -> None:
    assert can_raise("Name:\tx\nCapEff:\t000001ffffffffff\n")
    assert not can_raise("Name:\tx\nCapEff:\t00000000a80425fb\n")
    assert not can_raise("")


def test_all_four_are_set() -> None:
    limits = {limit.name: limit.hard for limit in server_ulimits(4096)}
    assert list(limits) == ["core", "memlock", "nofile", "stack"]
    assert limits["core"] == 0
