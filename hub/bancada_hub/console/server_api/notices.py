"""Waiting for something to tell a person: one look at the database a second, however many servers wait."""

import asyncio

from bancada.contract import SiteNotice
from bancada_hub.store import notices
from bancada_hub.store.database import Store

LOOK_S = 1.0


class NoticeWatch:
    """Wakes those who wait when a notice was added, by whatever process.

    Args:
        store: The database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting = 0
        self._added = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def unseen(self, person_id: int, wait_s: float) -> tuple[SiteNotice, ...]:
        """Return what a person has not seen; waits while there is nothing.

        Args:
            person_id: Whose.
            wait_s: The longest wait.
        """
        self._waiting += 1
        ends = asyncio.get_running_loop().time() + wait_s
        try:
            self._watch()
            while True:
                added = self._added  # taken before the look: what is added meanwhile wakes
                found = await self._read(person_id)
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

    async def _read(self, person_id: int) -> tuple[SiteNotice, ...]:
        return await asyncio.to_thread(self._unseen, person_id)

    def _unseen(self, person_id: int) -> tuple[SiteNotice, ...]:
        with self._store.read() as session:
            found = notices.unseen_notices(session, person_id)
        return tuple(SiteNotice(one.id, one.level, one.text, one.action_label, one.action_url) for one in found)


async def _set_before(event: asyncio.Event, ends: float) -> bool:
    try:
        async with asyncio.timeout_at(ends):
            await event.wait()
    except TimeoutError:
        return False
    return True
