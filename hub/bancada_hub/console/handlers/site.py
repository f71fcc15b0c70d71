"""The page Site, for admins: preparation, published images, how many people there are."""

import asyncio
from dataclasses import dataclass

import bancada
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.handlers.work import preparation_part
from bancada_hub.console.projects import Records, read_records
from bancada_hub.console.routes import Route, Rule
from bancada_hub.roles import Action
from bancada_hub.store import catalog, people
from bancada_hub.store.database import Store


@dataclass(frozen=True)
class _Figures:
    records: Records
    published: tuple[catalog.Revision, ...]
    people: int
    admins: int


class SitePage(Handler):
    """The first of the tabs of Site."""

    async def get(self) -> None:
        """Show the site."""
        found = await asyncio.to_thread(_read, self.context.launch.store, self.person_name)
        self.finish(
            self.page(
                "site.html",
                tab="site",
                part="overview",
                found=found,
                release=bancada.__version__,
                data=str(self.context.launch.places.data),
                preparation_part=preparation_part(self, found.records),
            )
        )


def _read(store: Store, name: str) -> _Figures:
    records = read_records(store, name)
    with store.read() as session:
        everybody = [person for person in people.people(session) if not person.disabled]
        published = catalog.published_revisions(session)
    return _Figures(records, tuple(published), len(everybody), sum(person.admin for person in everybody))


ROUTES = [Route("site", SitePage, {"GET": Rule(Action.SEE_SITE, "The page Site.")})]
