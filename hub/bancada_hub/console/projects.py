"""What the pages read from the database, each in one transaction; and a person's projects with their servers."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from bancada_hub.console.context import Context
from bancada_hub.console.errors import HubAwayError, NoAccountError, NotThereError
from bancada_hub.console.hub import HubServer
from bancada_hub.console.preparation import Preparation, summarise
from bancada_hub.console.servers import UNKNOWN, Phase, ServerView, phase_of, view
from bancada_hub.launch.facts import IMAGE
from bancada_hub.store import catalog, people, projects, steps
from bancada_hub.store.database import Store

SHORT_DIGEST = 12
"""Hex digits of a digest that people are shown."""


@dataclass(frozen=True)
class Records:
    """What the database has for one person's pages."""

    person: people.Person
    projects: tuple[projects.Project, ...]
    revision: catalog.Revision | None
    preparation: Preparation


@dataclass(frozen=True)
class Card:
    """One project on the page Work."""

    project: projects.Project
    revision: catalog.Revision | None
    server: ServerView

    @property
    def short_digest(self) -> str:
        """The first digits of the revision's name; empty when there is no revision yet."""
        return self.revision.built.digest.removeprefix("sha256:")[:SHORT_DIGEST] if self.revision else ""


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
        servers = await context.hub.servers(records.person.name)
    except HubAwayError:
        cards = tuple(Card(project, records.revision, UNKNOWN) for project in records.projects)
        return Work(records, cards, hub_away=True)
    name = records.person.name
    views = await asyncio.gather(*(_view(context, name, p.slug, servers.get(p.slug)) for p in records.projects))
    cards = tuple(
        Card(project, records.revision, server) for project, server in zip(records.projects, views, strict=True)
    )
    return Work(records, cards, hub_away=False)


async def server_of(context: Context, records: Records, slug: str) -> ServerView:
    """Return the state of a person's server of one project.

    Raises:
        HubAwayError: The hub does not answer.
    """
    servers = await context.hub.servers(records.person.name)
    return await _view(context, records.person.name, slug, servers.get(slug))


async def _view(context: Context, person: str, slug: str, server: HubServer | None) -> ServerView:
    phase = phase_of(server)
    said = context.starts.said(person, slug) if phase is Phase.STARTING else ""
    stopped = server is not None and phase is Phase.STOPPED
    failure = await context.starts.failure(person, slug) if stopped else ""
    return view(server, datetime.now(UTC), said=said, failure=failure)
