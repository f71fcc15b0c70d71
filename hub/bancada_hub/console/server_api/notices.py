"""Waiting for something to tell a person: one look at the database a second, however many servers wait.

A person with several projects open is told by one of them: the first that asks has a notice to itself until it was
seen. One that goes away before it showed the notice loses it to the next after a while, so that nothing is lost.
"""

import asyncio
import time
from collections.abc import Sequence

from bancada.contract import SiteNotice
from bancada_hub.store import notices, people
from bancada_hub.store.database import Store
from bancada_hub.ui import language

LOOK_S = 1.0
OFFER_S = 20.0
"""How long a server has a notice to itself; one that shows it says so within a second."""


class Offers:
    """Which server was given which notice. In memory: forgotten, a notice is shown twice at worst."""

    def __init__(self) -> None:
        self._given: dict[int, tuple[str, float]] = {}

    def take(self, found: Sequence[notices.Notice], server: str, now_s: float) -> list[notices.Notice]:
        """Return the notices that a server may show, and keep the others of that person's servers from them.

        Args:
            found: What the person has not seen.
            server: The server that asks.
            now_s: The present instant, of a clock that only goes forward.
        """
        self._given = {number: given for number, given in self._given.items() if given[1] > now_s}
        own = [notice for notice in found if self._given.get(notice.id, (server, 0))[0] == server]
        self._given |= {notice.id: (server, now_s + OFFER_S) for notice in own}
        return own


class NoticeWatch:
    """Wakes those who wait when a notice was added, by whatever process.

    Args:
        store: The database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._offers = Offers()
        self._waiting = 0
        self._added = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def unseen(self, person_id: int, server: str, wait_s: float) -> tuple[SiteNotice, ...]:
        """Return what a person has not seen and no other server of theirs shows; waits while there is nothing.

        Args:
            person_id: Whose.
            server: Which of their servers asks.
            wait_s: The longest wait.
        """
        self._waiting += 1
        ends = asyncio.get_running_loop().time() + wait_s
        try:
            self._watch()
            while True:
                added = self._added  # taken before the look: what is added meanwhile wakes
                found = await self._read(person_id, server)
                if found or not await _set_before(added, ends):
                    return found
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """End watching."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _watch(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        latest = await asyncio.to_thread(self._latest)
        while self._waiting:
            await asyncio.sleep(LOOK_S)
            now = await asyncio.to_thread(self._latest)
            if now != latest:
                latest = now
                self._added.set()
                self._added = asyncio.Event()

    def _latest(self) -> int:
        with self._store.read() as session:
            return notices.latest_notice_id(session)

    async def _read(self, person_id: int, server: str) -> tuple[SiteNotice, ...]:
        found, words = await asyncio.to_thread(self._unseen, person_id)
        own = self._offers.take(found, server, time.monotonic())
        return tuple(_in_words(notice, words) for notice in own)

    def _unseen(self, person_id: int) -> tuple[list[notices.Notice], language.Words]:
        with self._store.read() as session:
            chosen = people.get_person(session, person_id).language
            return notices.unseen_notices(session, person_id), language.words(chosen.replace("-", "_"))


def _in_words(notice: notices.Notice, words: language.Words) -> SiteNotice:
    label = words.gettext(notice.action_label) if notice.action_label else ""
    return SiteNotice(notice.id, notice.level, words.gettext(notice.text), label, notice.action_url)


async def _set_before(event: asyncio.Event, ends: float) -> bool:
    try:
        async with asyncio.timeout_at(ends):
            await event.wait()
    except TimeoutError:
        return False
    return True
