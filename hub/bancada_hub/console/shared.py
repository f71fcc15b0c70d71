"""A slow look at the machine that all who ask meanwhile share: it takes one thread, however many people ask."""

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Looks once at a time.

    Args:
        look: May block for as long as it must; it runs in a thread.
    """

    def __init__(self, look: Callable[[], T]) -> None:
        self._look = look
        self._running: asyncio.Task[T] | None = None
        self._at_s = 0.0
        self.last: T | None = None

    async def ask(self) -> T:
        """Look; who asks while that goes on gets the same answer."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await asyncio.shield(self._running)

    async def recent(self, within_s: float) -> T:
        """Return the last answer if it is no older than so many seconds, else look."""
        if self.last is None or time.monotonic() - self._at_s > within_s:
            return await self.ask()
        return self.last

    async def _run(self) -> T:
        self.last = await asyncio.to_thread(self._look)
        self._at_s = time.monotonic()
        return self.last
