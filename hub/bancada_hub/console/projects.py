"""What the pages read from the database, each in one transaction; and a person's projects with their servers."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from bancada_hub.console.context import Context
from bancada_hub.console.errors import HubAwayError, NoAccountError, NotThereError
from bancada_hub.console.gpu_choice import GpuChoice, gpu_choices
from bancada_hub.console.hub import HubServer
from bancada_hub.console.preparation import Preparation, summarise
from bancada_hub.console.server_api.reports import Report
from bancada_hub.console.servers import UNKNOWN, Phase, ServerView, phase_of, view
from bancada_hub.launch.facts import IMAGE
from bancada_hub.launch.room import Offers, read_offers
from bancada_hub.store import catalog, people, projects, servers, steps
from bancada_hub.store.database import Store
from bancada_hub.store.server_ends import ServerEnd, ends_of


@dataclass(frozen=True)
class Records:
    """What the database has for one person's pages."""

    person: people.Person
    projects: tuple[projects.Project, ...]
    revision: catalog.Revision | None
    preparation: Preparation


@dataclass(frozen=True)
class Card:
    """One project on the page Work.

    Args:
        project: The project.
        revision: What it starts from; None before there is one.
        server: The person's server of it.
        offers: The sizes that it can be started with now; None in an archived project.
        held: What the server holds; None when it does not run.
        report: What the server that runs reported last.
        ended: How the last server ended, when the person did not stop it; None once they started again or know.
        gpu: What to say of GPUs; None where there are none.
    """

    project: projects.Project
    revision: catalog.Revision | None
    server: ServerView
    offers: Offers | None = None
    held: servers.HeldServer | None = None
    report: Report | None = None
    ended: ServerEnd | None = None
    gpu: GpuChoice | None = None

    @property
    def short_digest(self) -> str:
        """The first digits of the revision's name; empty when there is no revision yet."""
        return self.revision.short if self.revision else ""


@dataclass(frozen=True)
class Work:
    """All that the page Work shows."""

    records: Records
    cards: tuple[Card, ...]
    hub_away: bool


def read_preparation(store: Store) -> Preparation:
    """Return how far the site's preparation is."""
    with store.read() as session:
        taken, published = steps.steps(session), catalog.published_revisions(session)
    return summarise(taken, published=bool(published), now=datetime.now(UTC))


def read_records(store: Store, name: str) -> Records:
    """Return what one person's pages need.

    Raises:
        NoAccountError: There is no such person, or the account is disabled.
    """
    with store.read() as session:
        person = people.find_person(session, name)
        if person is None or person.disabled:
            raise NoAccountError
        own = projects.projects_of(session, person.id)
        revision = catalog.published_revision(session, IMAGE)
        taken = steps.steps(session)
    preparation = summarise(taken, published=revision is not None, now=datetime.now(UTC))
    return Records(person, tuple(own), revision, preparation)


def own_project(records: Records, slug: str) -> projects.Project:
    """Return the person's project of this slug.

    Raises:
        NotThereError: There is none, or it is not theirs: nobody learns which.
    """
    found = next((project for project in records.projects if project.slug == slug), None)
    if found is None:
        raise NotThereError
    return found


async def work_of(context: Context, records: Records) -> Work:
    """Return a person's projects with the state of their servers; unknown states while the hub does not answer."""
    try:
        found = await context.hub.servers(records.person.name)
    except HubAwayError:
        cards = tuple(Card(project, records.revision, UNKNOWN) for project in records.projects)
        return Work(records, cards, hub_away=True)
    name = records.person.name
    views = await asyncio.gather(*(_view(context, name, p.slug, found.get(p.slug)) for p in records.projects))
    offers, held = await asyncio.to_thread(_room, context, records)
    ends = await asyncio.to_thread(read_ends, context.launch.store, records.person.id)
    board, lab = await context.queue.board(records.person.id)
    gpus = gpu_choices(board, lab, records.projects, simulated=context.launch.simulated_cards)
    cards = tuple(
        Card(
            project=project,
            revision=records.revision,
            server=server,
            offers=offers.get(project.id),
            held=held.get(project.id) if server.phase is Phase.RUNNING else None,
            report=report_of(context, name, project.slug, server),
            ended=ends.get(project.id) if server.phase is Phase.STOPPED else None,
            gpu=None if project.archived_at else gpus.get(project.id),
        )
        for project, server in zip(records.projects, views, strict=True)
    )
    return Work(records, cards, hub_away=False)


def report_of(context: Context, person: str, slug: str, server: ServerView) -> Report | None:
    """Return what a server that runs reported last."""
    return context.reports.latest(person, slug, server.started_at) if server.phase is Phase.RUNNING else None


def read_ends(store: Store, person_id: int) -> dict[int, ServerEnd]:
    """Return how a person's servers ended that they did not stop, by the number of the project."""
    with store.read() as session:
        return ends_of(session, person_id)


def _room(context: Context, records: Records) -> tuple[dict[int, Offers], dict[int, servers.HeldServer]]:
    """Return what each of a person's projects can be started with, and what each of their servers holds."""
    store, site, person_id = context.launch.store, context.launch.site, records.person.id
    usable = [project for project in records.projects if project.archived_at is None]
    offers = {project.id: read_offers(store, site, person_id, project) for project in usable}
    with store.read() as session:
        held = {each.project_id: each for each in servers.held(session) if each.person_id == person_id}
    return offers, held


async def server_of(context: Context, records: Records, slug: str) -> ServerView:
    """Return the state of a person's server of one project.

    Raises:
        HubAwayError: The hub does not answer.
    """
    found = await context.hub.servers(records.person.name)
    return await _view(context, records.person.name, slug, found.get(slug))


async def _view(context: Context, person: str, slug: str, server: HubServer | None) -> ServerView:
    phase = phase_of(server)
    said = context.starts.said(person, slug) if phase is Phase.STARTING else ""
    stopped = server is not None and phase is Phase.STOPPED
    failure = await context.starts.failure(person, slug) if stopped else ""
    return view(server, datetime.now(UTC), said=said, failure=failure)
