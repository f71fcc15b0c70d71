"""The cards' health on the console's clock: what fails is noticed within a minute, written down and told."""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from bancada.contract import CARDS_NO_LIBRARY, CARDS_SILENT
from bancada_hub.console.server_api.reports import Reports
from bancada_hub.console.shared import Shared
from bancada_hub.errors import BancadaError, Told, told
from bancada_hub.gpus.faults import Xid
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.gpus.nvml import UNKNOWN
from bancada_hub.gpus.watching import Looked, Noted, note
from bancada_hub.gpus.xids import XidListener
from bancada_hub.store import servers
from bancada_hub.store.database import Store

LOOK_S = 20.0
"""Seconds between two looks where there are cards, or were."""

IDLE_S = 120.0
"""Seconds between two looks where no card was ever seen: one may be put in, and its driver loaded."""

BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")

log = logging.getLogger(__name__)


class GpuWatch:
    """Watches the cards of one site.

    Args:
        store: The database.
        cards: The machine's.
        reports: What servers reported last.
        changed: Called when an incident began or ended, so that the queue looks at once.
        listener: Hears the errors that the driver reports.
    """

    def __init__(
        self,
        store: Store,
        cards: Shared[Inventory],
        reports: Reports,
        changed: Callable[[], None],
        listener: XidListener | None = None,
    ) -> None:
        self._store, self._cards, self._reports, self._changed = store, cards, reports, changed
        self._listener = listener or XidListener()
        self._lingering: frozenset[int] = frozenset()
        self._unwritten: tuple[Xid, ...] = ()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """End."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.to_thread(self._listener.close)

    async def look(self) -> Inventory:
        """Look once, and write down what was found; returns the cards."""
        found = await self._cards.recent(LOOK_S / 2)
        if found.cards and found.source == "nvml":
            await asyncio.to_thread(self._listener.listen, [card.uuid for card in found.cards])
        noted = await asyncio.to_thread(self._note, found)
        self._lingering = noted.occupied
        if noted.changed:
            self._changed()
        return found

    async def _run(self) -> None:
        said = ""
        while True:
            interval_s = LOOK_S
            try:
                found = await self.look()
                interval_s = LOOK_S if found.cards or found.set_aside else IDLE_S
                said = ""
            except (BancadaError, SQLAlchemyError, OSError) as error:
                if str(error) != said:
                    log.error("The cards are not watched: %s", error)  # noqa: TRY400 - said in a sentence
                said = str(error)
            except Exception as error:  # an error of ours: the log has its place, and the watch goes on
                if repr(error) != said:
                    log.exception("The cards are not watched")
                said = repr(error)
            await asyncio.sleep(interval_s)

    def _note(self, found: Inventory) -> Noted:
        # What was heard and could not be written down stays for the next look.
        self._unwritten += self._listener.taken()
        with self._store.write() as session:
            blind = {
                (row.person_name, row.project_slug): said
                for row in servers.held(session)
                if (said := self._blind(row)) is not None
            }
            looked = Looked(found, _boot(), self._unwritten, blind, self._lingering)
            noted = note(session, looked, time.time())
        self._unwritten = ()
        return noted

    def _blind(self, row: servers.HeldServer) -> Told | None:
        report = self._reports.latest(row.person_name, row.project_slug, row.begun_at)
        return words_for(report.activity.cards_error) if report is not None else None


def words_for(error: int) -> Told | None:
    """Return what it means that the driver's library answers this in a server; None when all is well there."""
    if error == 0:
        return None
    if error == CARDS_NO_LIBRARY:
        return told("the driver's library is missing there; NVIDIA_DRIVER_CAPABILITIES must have “utility”.")
    if error == CARDS_SILENT:
        return told("the driver's library does not answer there.")
    if error == UNKNOWN:
        return told("its devices were taken away, as a reload of systemd does.")
    return told("the driver's library answers error %(error)s there.", error=error)


def _boot() -> str:
    try:
        return BOOT_FILE.read_text(encoding="ascii").strip()
    except OSError:
        return ""
