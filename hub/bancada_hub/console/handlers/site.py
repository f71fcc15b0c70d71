"""The page Site, for admins: preparation, published images, how many people there are."""

import asyncio
from dataclasses import dataclass

import bancada
from bancada_hub.console.errors import NotThereError
from bancada_hub.console.handlers.base import PREFIX, Handler
from bancada_hub.console.handlers.work import preparation_part
from bancada_hub.console.projects import Records, read_records
from bancada_hub.store import catalog, people
from bancada_hub.store.database import Store


@dataclass(frozen=True)
class _Figures:
    records: Records
    published: tuple[catalog.Revision, ...]
    people: int
    admins: int


class SitePage(Handler):
    """Looks like an unknown address to everybody else."""

    async def get(self) -> None:
        """Show the site."""
        found = await asyncio.to_thread(_read, self.context.launch.store, self.person_name)
        look = self.show_tabs(admin=True)
        self.finish(
            self.page(
                "site.html",
                look=look,
                person=found.records.person.name,
                tab="site",
                found=found,
                release=bancada.__version__,
                data=str(self.context.launch.places.data),
                preparation_part=preparation_part(self, found.records, look),
            )
        )


def _read(store: Store, name: str) -> _Figures:
    records = read_records(store, name)
    if not records.person.admin:
        raise NotThereError
    with store.read() as session:
        everybody = [person for person in people.people(session) if not person.disabled]
        published = catalog.published_revisions(session)
    return _Figures(records, tuple(published), len(everybody), sum(person.admin for person in everybody))


ROUTES = [(PREFIX + "site", SitePage)]
