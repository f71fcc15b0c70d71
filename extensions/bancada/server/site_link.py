"""What a server keeps up with its site: it reports every 30 s, and passes on what the site tells this person.

One link serves all pages of the server. Without a page nothing is asked for: what the site has to tell waits there.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from bancada.contract import REPORT_INTERVAL_S, Activity, ProjectFacts, SiteNotice
from bancada.server.site_client import SiteAway, SiteClient, SiteRefused

LOOK_S = 2
"""How often the number of notebooks and terminals is looked at, for an early report."""

FIRST_REPORTS_S = 2
"""Until the site first answers: a server is often ready before the page that shows it."""

AGAIN_S = 5

log = logging.getLogger("bancada.site")


class Page(Protocol):
    """One page of JupyterLab that is open."""

    def tell(self, message: str) -> bool:
        """Send a message; returns whether the page was still there."""


@dataclass(frozen=True)
class LinkState:
    """How this server stands with its site: what a page is told.

    Args:
        kind: `work` or `rescue`.
        site: `unknown`, `well`, `away` or `refused`.
        problem: What the site said, when it refused.
        answered_at: When it last answered, in ISO 8601; empty when it never did.
        facts: What it knows of the project.
    """

    kind: str
    site: str = "unknown"
    problem: str = ""
    answered_at: str = ""
    facts: ProjectFacts | None = None


class SiteLink:
    """Keeps reporting, and keeps pages informed.

    Args:
        client: Speaks with the site.
        measure: Returns what runs in this server.
        kind: `work` or `rescue`.
        signed_out: Called when the person was signed out everywhere.
        cards: Returns what the driver's library answers here, as in `Activity`; may take its time.
    """

    def __init__(
        self,
        client: SiteClient,
        measure: Callable[[], Activity],
        kind: str,
        signed_out: Callable[[], None],
        cards: Callable[[], int] = int,
    ) -> None:
        self._client, self._measure, self._signed_out, self._cards = client, measure, signed_out, cards
        self.state = LinkState("rescue" if kind == "rescue" else "work")
        self._pages: dict[Page, None] = {}  # in the order in which they were opened
        self._told: set[int] = set()
        self._some_page = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin."""
        self._tasks = [asyncio.create_task(self._report()), asyncio.create_task(self._pass_notices_on())]

    async def close(self) -> None:
        """End."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._client.close()

    def add_page(self, page: Page) -> None:
        """Keep a page informed from now on."""
        self._pages[page] = None
        self._some_page.set()
        page.tell(_message("state", self.state))

    def remove_page(self, page: Page) -> None:
        """Forget a page that was closed."""
        self._pages.pop(page, None)
        if not self._pages:
            self._some_page.clear()

    async def stop_server(self) -> None:
        """Ask the site to stop this server."""
        await self._client.stop()

    async def _report(self) -> None:
        while True:
            cards_error = await asyncio.to_thread(self._cards)
            activity = replace(self._measure(), cards_error=cards_error)
            try:
                facts = await self._client.report(activity)
                if self.state.facts and self.state.facts.signed_out_at != facts.signed_out_at:
                    self._signed_out()
                now = datetime.now(UTC).isoformat(timespec="seconds")
                self._set(replace(self.state, site="well", problem="", answered_at=now, facts=facts))
            except SiteRefused as refusal:
                self._set(replace(self.state, site="refused", problem=str(refusal)))
            except SiteAway as away:
                log.warning("The site does not answer: %s", away)
                self._set(replace(self.state, site="away", problem=""))
            early = self.state.site == "away" and not self.state.answered_at
            await self._until_next_report(FIRST_REPORTS_S if early else REPORT_INTERVAL_S, _counts(activity))

    async def _until_next_report(self, interval_s: float, reported: tuple[int, int]) -> None:
        """Wait, but not long when a notebook or terminal was opened or closed: Work shows how many there are."""
        clock = asyncio.get_running_loop().time
        ends = clock() + interval_s
        while (left_s := ends - clock()) > 0:
            await asyncio.sleep(min(LOOK_S, left_s))
            if _counts(self._measure()) != reported:
                return

    def _set(self, state: LinkState) -> None:
        # Pages are told of changes, not of each report that went as the one before.
        changed = replace(state, answered_at="") != replace(self.state, answered_at="")
        self.state = state
        if changed:
            self._tell(_message("state", state))

    async def _pass_notices_on(self) -> None:
        while True:
            await self._some_page.wait()
            try:
                for notice in await self._client.notices():
                    await self._pass_on(notice)
            except (SiteAway, SiteRefused) as problem:
                log.info("No notices: %s", problem)
                await asyncio.sleep(AGAIN_S)

    async def _pass_on(self, notice: SiteNotice) -> None:
        """Show a notice in one page, then say that it was seen: one that got lost on the way is told again."""
        if notice.id in self._told or self._tell_newest(_message("notice", notice)):
            self._told.add(notice.id)
            await self._client.seen(notice.id)
        else:
            await asyncio.sleep(1)  # the last page is just going away

    def _tell(self, message: str) -> None:
        for page in tuple(self._pages):
            page.tell(message)

    def _tell_newest(self, message: str) -> bool:
        """Tell the page that was opened last and is still there; returns whether there was one."""
        return any(page.tell(message) for page in reversed(tuple(self._pages)))


def _counts(activity: Activity) -> tuple[int, int]:
    return len(activity.kernels), len(activity.terminals)


def _message(kind: str, value: LinkState | SiteNotice) -> str:
    return json.dumps({"kind": kind, kind: asdict(value)}, ensure_ascii=False)
