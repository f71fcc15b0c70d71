"""Hearing the errors that the driver reports of cards (Xid), through the unmodified bindings."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from bancada_hub.gpus.faults import Xid
from bancada_hub.gpus.xids import XidListener
from tests.standin.nvml.driver import StandInDriver, card, scenario, uuid

DEADLINE_S = 20.0


@pytest.fixture
def listener(driver: StandInDriver) -> Iterator[XidListener]:
    made = XidListener(driver.environment)
    yield made
    made.close()


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.05)


def heard(listener: XidListener, enough: int) -> list[Xid]:
    found: list[Xid] = []

    def take() -> bool:
        found.extend(listener.taken())
        return len(found) >= enough

    until(take)
    return found


def test_an_error_is_heard_with_the_uuid_of_its_card_b9(driver: StandInDriver, listener: XidListener) -> None:
    """B9: the card's name is known from before: one that fell off the bus does not say it any more."""
    driver.write(scenario(card(0), card(1)))
    listener.listen()
    assert listener.wait_ready(DEADLINE_S)
    driver.write(scenario(card(0), card(1, lost=True), events=[{"card": 1, "type": 8, "data": 79}]))
    assert Xid(uuid(1), 79) in heard(listener, 1)
    assert set(heard(listener, 0)) <= {Xid(uuid(1), 79)}


def test_a_listener_that_ended_is_begun_anew(driver: StandInDriver, listener: XidListener) -> None:
    driver.write(scenario(card(0)))
    listener.listen()
    assert listener.wait_ready(DEADLINE_S)
    process = listener._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    driver.write(scenario(card(0), events=[{"card": 0, "type": 8, "data": 48}]))
    listener.listen()
    assert heard(listener, 1)[0] == Xid(uuid(0), 48)


def test_a_card_that_came_back_is_listened_to(driver: StandInDriver, listener: XidListener) -> None:
    driver.write(scenario(card(0), card(1, lost=True)))
    listener.listen([uuid(0)])
    assert listener.wait_ready(DEADLINE_S)
    first = listener._process
    listener.listen([uuid(0)])
    assert listener._process is first
    driver.write(scenario(card(0), card(1), events=[{"card": 1, "type": 8, "data": 95}]))
    listener.listen([uuid(0), uuid(1)])
    assert heard(listener, 1)[0] == Xid(uuid(1), 95)


def test_the_listener_ends_with_its_parent_and_without_a_driver(driver: StandInDriver, listener: XidListener) -> None:
    driver.write(scenario(card(0)))
    listener.listen()
    assert listener.wait_ready(DEADLINE_S)
    process = listener._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()  # as when the console is killed
    assert process.wait(DEADLINE_S) == 0
    alone = XidListener({"LD_LIBRARY_PATH": ""})
    alone.listen()
    assert alone._process is not None
    alone._process.wait(DEADLINE_S)
    assert alone.taken() == ()
    alone.close()
