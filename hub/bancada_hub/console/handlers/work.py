"""The page Work: a card a project. `live` is the same page's changing parts, which its script asks for."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from bancada_hub.console import activity, ends, servers
from bancada_hub.console import preparation as progress
from bancada_hub.console.access import Who
from bancada_hub.console.choice import Choice, choose
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.handlers.queue import in_words
from bancada_hub.console.projects import Card, Records, Work, read_records, work_of
from bancada_hub.console.routes import Route, Rule
from bancada_hub.gpus.board_model import moment
from bancada_hub.launch import silence
from bancada_hub.launch.room import Offers

MOVING_S, WORKING_S, STILL_S = 1, 2, 15
"""Seconds until the page asks again: while a server starts or stops, while the site is prepared, else."""


class _Work(Handler):
    """Shows a person's projects, or the one that the address chooses."""

    async def chosen(self) -> tuple[Work, Choice]:
        """Return the projects with their servers; 404 when the address chooses none of the person's."""
        records = await asyncio.to_thread(read_records, self.context.launch.store, self.person_name)
        choice = choose(records, self.get_query_argument("project", ""))
        return await work_of(self.context, replace(records, projects=choice.shown)), choice


class WorkPage(_Work):
    """The whole page."""

    async def get(self) -> None:
        """Show a person's projects."""
        work, choice = await self.chosen()
        values = {"choice": choice, "project_query": choice.query, "work": work, "next_s": _next_s(work)}
        self.finish(self.page("work.html", tab="work", parts=parts_of(self, work), **values))


class WorkParts(_Work):
    """The parts that change, each as HTML under its element's id, and when to ask again."""

    json_only = True

    async def get(self) -> None:
        """Answer {parts, notices, next_s}."""
        work, _ = await self.chosen()
        notices = self.page("notices.html", tab="work")
        self.send_json({"parts": parts_of(self, work), "notices": notices, "next_s": _next_s(work)})


def parts_of(handler: Handler, work: Work) -> dict[str, str]:
    """Return the changing parts of the page by the id of their element."""
    parts = {"silence": silence_part(handler), "preparation": preparation_part(handler, work.records)}
    for card in work.cards:
        parts[f"project-{card.project.slug}"] = _card_part(handler, card)
    return parts


def silence_part(handler: Handler) -> str:
    """Return the note that the container engine does not answer; nothing while it does."""
    since = silence.silent_since(handler.context.launch.places)
    if since is None:
        return ""
    admin = handler.asker.standing.admin
    return handler.page("silence.html", since=since, clock=silence.clock(since), person_is_admin=admin)


def preparation_part(handler: Handler, records: Records) -> str:
    """Return the card of the site's preparation; nothing once the site is ready."""
    found = records.preparation
    if found.progress is progress.Progress.READY:
        return ""
    return handler.page(
        "preparation.html",
        preparation=found,
        text=progress.describe(found, handler.look.words),
        elapsed_s=lambda step: progress.elapsed_s(step, datetime.now(UTC)),
        show_errors=records.person.admin,
    )


def _card_part(handler: Handler, card: Card) -> str:
    words, running = handler.look.words, card.server.phase is servers.Phase.RUNNING
    return handler.page(
        "card.html",
        card=card,
        server=card.server,
        phase=card.server.phase.value,
        state_word=servers.describe(card.server, words),
        state_colour=servers.colour(card.server),
        activity=activity.describe(card.report, datetime.now(UTC), words) if running else None,
        chosen=chosen_size(card.offers),
        ended=ends.describe(card.ended, words) if card.ended else None,
        gpu=card.gpu,
        waits=in_words(card.gpu.waits, words) if card.gpu and card.gpu.waits else None,
        moment=moment,
    )


def chosen_size(offers: Offers | None) -> str:
    """Return the size that a start has unless the person chooses another; empty when none fits now.

    It is that of the start before where there is room for it, else the largest smaller one, else any that fits.
    """
    if offers is None:
        return ""
    sizes = [offer.size for offer in offers.offered]
    before = sizes.index(offers.usual)
    fitting = [offer.size for offer in offers.offered if offer.fits]
    smaller = [size for size in sizes[: before + 1] if size in fitting]
    return smaller[-1] if smaller else next(iter(fitting), "")


def _next_s(work: Work) -> int:
    if work.hub_away or any(card.server.phase in servers.MOVING for card in work.cards):
        return MOVING_S
    return STILL_S if work.records.preparation.progress is progress.Progress.READY else WORKING_S


ROUTES = [
    Route("", WorkPage, {"GET": Rule(Who.PERSON, "The page Work.")}),
    Route("live", WorkParts, {"GET": Rule(Who.PERSON, "The changing parts of Work.")}),
]
