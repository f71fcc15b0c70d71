"""The page Site, for admins: preparation, published images, how many people there are."""

import asyncio
from dataclasses import dataclass

import bancada
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.handlers.work import preparation_part, silence_part
from bancada_hub.console.projects import Records, read_records
from bancada_hub.console.routes import Route, Rule
from bancada_hub.host.machine import Machine
from bancada_hub.launch.admission import Ceiling
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.room import Use, capacity_here, machine_of, use_of
from bancada_hub.roles import Action
from bancada_hub.store import catalog, incidents, people, servers


@dataclass(frozen=True)
class _Figures:
    records: Records
    published: tuple[catalog.Revision, ...]
    people: int
    admins: int
    held: tuple[servers.HeldServer, ...]
    use: Use
    machine: Machine
    overcommit: float
    incidents: tuple[incidents.Incident, ...]


class SitePage(Handler):
    """The first of the tabs of Site."""

    async def get(self) -> None:
        """Show the site."""
        found = await asyncio.to_thread(_read, self.context.launch, self.person_name)
        self.finish(
            self.page(
                "site.html",
                tab="site",
                part="overview",
                found=found,
                release=bancada.__version__,
                data=str(self.context.launch.places.data),
                preparation_part=preparation_part(self, found.records),
                silence_part=silence_part(self),
            )
        )


def _read(launch: LaunchContext, name: str) -> _Figures:
    records = read_records(launch.store, name)
    most = capacity_here(launch.site)
    with launch.store.read() as session:
        everybody = [person for person in people.people(session) if not person.disabled]
        published = catalog.published_revisions(session)
        held = servers.held(session)
        lasting = incidents.open_incidents(session)
    return _Figures(
        records=records,
        published=tuple(published),
        people=len(everybody),
        admins=sum(person.admin for person in everybody),
        held=tuple(held),
        use=use_of(held, Ceiling(most.memory_bytes, most.cpus)),
        machine=machine_of(launch.site),
        overcommit=launch.site.server.cpu_overcommit,
        incidents=tuple(lasting),
    )


ROUTES = [Route("site", SitePage, {"GET": Rule(Action.SEE_SITE, "The page Site.")})]
