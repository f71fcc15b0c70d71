"""What is looked after on a clock goes on whatever one look meets, and says each trouble once."""

import logging
import threading
from collections.abc import Iterator

import pytest

from bancada_hub.errors import EngineError
from bancada_hub.launch.again import again_and_again


def test_a_clock_goes_on_after_every_kind_of_error_and_says_each_once(caplog: pytest.LogCaptureFixture) -> None:
    """An error that nobody thought of used to end the thread: nothing was put right any more, and no line said so."""
    silent, odd = EngineError("The engine is silent."), ValueError("nobody thought of this")
    looks = iter([silent, silent, odd, odd, None, silent])
    seen_all = threading.Event()
    caplog.set_level(logging.WARNING)
    over = again_and_again("test", 0.001, lambda: _take(looks, seen_all), "It fails")
    assert seen_all.wait(10)
    over.set()
    assert [record.getMessage() for record in caplog.records][:4] == [
        "It fails: The engine is silent.",
        "It fails",
        "No longer: It fails",
        "It fails: The engine is silent.",
    ]
    assert caplog.records[1].exc_info


def _take(looks: Iterator[Exception | None], seen_all: threading.Event) -> None:
    for error in looks:
        if error:
            raise error
        return
    seen_all.set()
