"""The page GPUs over a stand-in for the driver's library: cards in rows, those that do not answer with the reason."""

import asyncio
import threading
from pathlib import Path

from bancada_hub.console.shared import Shared
from tests.hub.console.cards import seeing
from tests.hub.console.running import Browser, RunningSite
from tests.standin.nvml.driver import card, uuid


def test_cards_are_shown_with_memory_use_and_health(running: RunningSite, ana: Browser, tmp_path: Path) -> None:
    waits = {"corrected": 0, "uncorrected": 4, "pending": True, "failed": False}
    cards = (card(0), card(1, remapped=waits), card(2, mig_mode=1), card(3, utilization=None), card(4, lost=True))
    with seeing(running, tmp_path, *cards):
        page = ana.get("/services/bancada/gpus").text
    assert "4 cards on this host." in page
    assert all(uuid(number) in page for number in range(4))
    assert "0.0 GiB of 80.0 GiB" in page
    assert "Needs attention" in page
    assert "A repair of its memory waits" in page
    assert "(MIG does not report use)" in page
    assert "(Not Supported)" in page
    assert "Card 4" in page
    assert "This card fell off the bus" in page


def test_a_machine_without_cards_says_why(ana: Browser) -> None:
    page = ana.get("/services/bancada/gpus").text
    assert "No NVIDIA driver on this host (libnvidia-ml.so.1 not found)" in page
    assert "./bancada up --simulate-gpus 2" in page, "how to try it without one"


async def test_however_many_ask_the_driver_is_asked_once_at_a_time() -> None:
    """Each look takes a thread for as long as a sick driver hangs; ten people's would leave none for anything else."""
    loop, began = asyncio.get_running_loop(), asyncio.Event()
    looks, go = [], threading.Event()

    def look() -> int:
        looks.append(1)
        loop.call_soon_threadsafe(began.set)
        assert go.wait(10)
        return len(looks)

    cards = Shared(look)
    asked = [asyncio.create_task(cards.ask()) for _ in range(10)]
    await began.wait()
    asked[0].cancel()  # whose page was closed does not end it for the others
    go.set()
    assert await asyncio.gather(*asked[1:]) == [1] * 9
    assert cards.last == 1
    assert await cards.ask() == 2
