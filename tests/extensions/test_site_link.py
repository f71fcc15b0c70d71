"""A server's link with its site, over a real connection to a small site that speaks the contract."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from bancada.contract import (
    API_PATH,
    CONTRACT_HEADER,
    Activity,
    KernelActivity,
    ProjectFacts,
    SiteNotice,
    parse_activity,
)
from bancada.server import site_link
from bancada.server.site_client import SiteClient
from bancada.server.site_link import SiteLink

FACTS = ProjectFacts("optics", "Optics", "Minimal", "0123456789ab")
DEADLINE_S = 20.0


@dataclass
class SmallSite:
    """What the site answers, and what it was told."""

    refusal: tuple[int, str] | None = None
    broken: bool = False
    unseen: list[SiteNotice] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    reports: list[Activity] = field(default_factory=list)
    headers: list[tuple[str | None, str | None]] = field(default_factory=list)
    signed_out_at: str = ""
    signed_out: list[bool] = field(default_factory=list)


class Answer(RequestHandler):
    @property
    def site(self) -> SmallSite:
        found: SmallSite = self.settings["site"]
        return found

    def prepare(self) -> None:
        self.site.headers.append((self.request.headers.get("Authorization"), self.request.headers.get(CONTRACT_HEADER)))
        if self.site.broken:
            self.set_status(500)
            self.finish("broken")
        elif self.site.refusal:
            self.set_status(self.site.refusal[0])
            self.finish({"status": self.site.refusal[0], "message": self.site.refusal[1], "fix": "Start it again."})

    def post(self) -> None:
        self.site.reports.append(parse_activity(json.loads(self.request.body)))
        self.finish(asdict(replace(FACTS, signed_out_at=self.site.signed_out_at)))


class Notices(Answer):
    async def get(self) -> None:
        if not self.site.unseen:
            await asyncio.sleep(0.2)
        self.finish({"notices": [asdict(notice) for notice in self.site.unseen]})


class Seen(Answer):
    def post(self, number: str = "") -> None:
        self.site.seen.append(int(number))
        self.site.unseen = [notice for notice in self.site.unseen if notice.id != int(number)]
        self.finish({})


class Page:
    """A page that is open, or just went away."""

    def __init__(self, *, there: bool = True) -> None:
        self.there = there
        self.messages: list[dict[str, Any]] = []

    def tell(self, message: str) -> bool:
        if self.there:
            self.messages.append(json.loads(message))
        return self.there

    @property
    def notices(self) -> list[str]:
        return [message["notice"]["text"] for message in self.messages if message["kind"] == "notice"]


@pytest.fixture
async def small() -> AsyncIterator[tuple[SmallSite, SiteLink]]:
    site, (socket, port) = SmallSite(), bind_unused_port()
    routes = [("/report", Answer), ("/notices", Notices), (r"/notices/(\d+)/seen", Seen)]
    server = HTTPServer(Application([(API_PATH + path, handler) for path, handler in routes], site=site))
    server.add_socket(socket)
    client = SiteClient(f"http://127.0.0.1:{port}{API_PATH}", "token-of-this-server")
    link = SiteLink(client, Activity, "work", lambda: site.signed_out.append(True))
    yield site, link
    await link.close()
    server.stop()
    await server.close_all_connections()


async def until(done: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not done():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.02)


async def test_a_person_who_was_signed_out_everywhere_is_out_here_too(
    small: tuple[SmallSite, SiteLink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each time, and not for one from before this server began."""
    monkeypatch.setattr(site_link, "REPORT_INTERVAL_S", 0.05)
    site, link = small
    site.signed_out_at = "2026-11-30T12:00:00+00:00"
    link.start()
    await until(lambda: link.state.facts)
    assert site.signed_out == []
    site.signed_out_at = "2026-12-01T12:00:00+00:00"
    await until(lambda: len(site.signed_out) == 1)
    reports = len(site.reports)
    await until(lambda: len(site.reports) > reports + 1)
    assert site.signed_out == [True]


async def test_a_page_learns_where_it_is(small: tuple[SmallSite, SiteLink]) -> None:
    site, link = small
    page = Page()
    link.add_page(page)
    assert page.messages[0]["state"]["site"] == "unknown"
    link.start()
    await until(lambda: len(page.messages) == 2)
    state = page.messages[1]["state"]
    assert (state["site"], state["kind"], state["facts"]["title"]) == ("well", "work", "Optics")
    assert site.reports == [Activity()]
    assert set(site.headers) == {("token token-of-this-server", "1")}


async def test_an_opened_notebook_is_reported_early(small: tuple[SmallSite, SiteLink]) -> None:
    site, link = small
    opened = Activity((KernelActivity(False, datetime.now(UTC)),))
    link.start()
    await until(lambda: site.reports == [Activity()])
    link._measure = lambda: opened
    await until(lambda: site.reports == [Activity(), opened])


async def test_a_refusal_is_passed_on_in_the_sites_words(small: tuple[SmallSite, SiteLink]) -> None:
    site, link = small
    site.refusal = (426, "This server is too old for this site.")
    page = Page()
    link.add_page(page)
    link.start()
    await until(lambda: link.state.site == "refused")
    assert page.messages[-1]["state"]["problem"] == "This server is too old for this site. Start it again."


async def test_a_site_that_is_away_comes_back(small: tuple[SmallSite, SiteLink]) -> None:
    site, link = small
    site.broken = True
    link.start()
    await until(lambda: link.state.site == "away")
    site.broken = False
    await until(lambda: link.state.site == "well")


async def test_a_notice_is_shown_in_the_page_opened_last_alone_and_is_marked_once(
    small: tuple[SmallSite, SiteLink],
) -> None:
    site, link = small
    first, second, gone = Page(), Page(), Page(there=False)
    for page in (first, second, gone):
        link.add_page(page)
    link.start()
    site.unseen.append(SiteNotice(7, "info", "Maintenance at 18:00."))
    await until(lambda: site.seen)
    assert (first.notices, second.notices) == ([], ["Maintenance at 18:00."])
    assert site.seen == [7]


async def test_without_a_page_a_notice_stays_at_the_site(small: tuple[SmallSite, SiteLink]) -> None:
    site, link = small
    site.unseen.append(SiteNotice(7, "info", "Maintenance at 18:00."))
    gone = Page(there=False)
    link.add_page(gone)
    link.start()
    await until(lambda: link.state.site == "well")
    link.remove_page(gone)
    assert site.seen == []
    page = Page()
    link.add_page(page)
    await until(lambda: site.seen == [7])
    assert page.notices == ["Maintenance at 18:00."]
