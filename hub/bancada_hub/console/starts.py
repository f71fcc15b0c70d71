"""Starts under way: begun without waiting for their end, and followed so that pages can say what happens.

Nothing here is needed after a restart of the console: the hub knows what runs, and tells again why a start failed.
"""

import asyncio
import logging

from bancada_hub.console.errors import HubAwayError, HubRefusedError, later
from bancada_hub.console.hub import HubClient

EARLY_ANSWER_S = 1.5
"""How long a start may take to be refused at once; a longer one is shown as starting."""

FAILURE_TIMEOUT_S = 3.0
NO_REASON = later("The start ended without a reason. The log on the machine may have it: ./bancada logs")

log = logging.getLogger(__name__)

Key = tuple[str, str]
"""A person's name and a project's slug."""


class Starts:
    """Begins starts and follows them.

    Args:
        hub: The hub that they go to.
    """

    def __init__(self, hub: HubClient) -> None:
        self._hub = hub
        self._begun: dict[Key, asyncio.Task[None]] = {}
        self._following: dict[Key, asyncio.Task[None]] = {}
        self._said: dict[Key, str] = {}

    async def begin(self, person: str, slug: str, options: dict[str, str]) -> None:
        """Ask the hub for a start; returns when it is under way.

        Who asks again while the hub has not answered yet (a second tab, an impatient click) waits for the same start:
        the hub knows no answer but an internal error for a second one at that instant.

        Raises:
            HubRefusedError: The hub refused at once.
            HubAwayError: It did not answer.
        """
        key = (person, slug)
        task = self._begun.get(key)
        if task is None:
            task = self._begun[key] = asyncio.create_task(self._hub.start(person, slug, options))
            task.add_done_callback(lambda ended: self._ended(key, ended))
        done, _ = await asyncio.wait({task}, timeout=EARLY_ANSWER_S)
        if done:
            await task

    def said(self, person: str, slug: str) -> str:
        """Return the last words of a start that runs; follows it from now on."""
        key = (person, slug)
        if key not in self._following:
            task = asyncio.create_task(self._follow(key))
            self._following[key] = task
            task.add_done_callback(lambda _: self._forget(key))
        return self._said.get(key, "")

    async def failure(self, person: str, slug: str) -> str:
        """Return why the last start of a server failed; empty when it did not, or nobody knows any more."""
        try:
            async with asyncio.timeout(FAILURE_TIMEOUT_S):
                async for event in self._hub.events(person, slug):
                    return (event.message or NO_REASON) if event.failed else ""
        except (HubRefusedError, HubAwayError, TimeoutError):
            return ""
        return ""

    async def close(self) -> None:
        """Stop following."""
        tasks = [*self._following.values(), *self._begun.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, key: Key) -> None:
        try:
            async for event in self._hub.events(*key):
                self._said[key] = event.message
        except (HubRefusedError, HubAwayError) as error:
            log.debug("No progress of %s/%s: %s", *key, error)

    def _forget(self, key: Key) -> None:
        self._following.pop(key, None)
        self._said.pop(key, None)

    def _ended(self, key: Key, task: asyncio.Task[None]) -> None:
        self._begun.pop(key, None)
        if not task.cancelled() and task.exception() is not None:
            log.warning("A start ended with: %s", task.exception())
