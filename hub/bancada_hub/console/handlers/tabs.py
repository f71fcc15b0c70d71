"""The tabs Images, Storage and Snapshots: what is known already, and nothing else."""

import shutil
from dataclasses import dataclass

from bancada_hub.console.access import Who
from bancada_hub.console.choice import Choice, choose
from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.handlers.work import preparation_part
from bancada_hub.console.projects import Records, read_records
from bancada_hub.console.routes import Route, Rule
from bancada_hub.places import Places
from bancada_hub.store import catalog
from bancada_hub.store.database import Store


@dataclass(frozen=True)
class Disk:
    """The file system that holds everybody's files.

    Args:
        total_bytes: Its size.
        free_bytes: What is free of it.
    """

    total_bytes: int
    free_bytes: int

    @property
    def used_ratio(self) -> float:
        """How much of it is used, from 0 to 1."""
        return 1 - self.free_bytes / self.total_bytes if self.total_bytes else 0.0


class Tab(Acting):
    """One of the tabs that show all of a person's projects, or the one that the address chooses."""

    tab = ""

    async def chosen(self) -> tuple[Records, Choice]:
        """Return the person's records, and which of their projects the page shows; 404 for any other."""
        records = await self.do(read_records, self.store, self.person_name)
        return records, choose(records, self.get_query_argument("project", ""))

    def show(self, choice: Choice, **values: object) -> None:
        """Answer the page."""
        page = self.page(f"{self.tab}.html", tab=self.tab, choice=choice, project_query=choice.query, **values)
        self.finish(page)


class ImagesPage(Tab):
    """GET images."""

    tab = "images"

    async def get(self) -> None:
        """Show the published images, or the one that the chosen project starts from."""
        records, choice = await self.chosen()
        published = await self.do(_published, self.store)
        if choice.chosen and records.revision:
            published = [each for each in published if each.image_key == records.revision.image_key]
        self.show(choice, published=published, preparation_part=preparation_part(self, records))


class StoragePage(Tab):
    """GET storage."""

    tab = "storage"

    async def get(self) -> None:
        """Show the disk that all files are on."""
        _, choice = await self.chosen()
        self.show(choice, disk=await self.do(_disk, self.context.launch.places))


class SnapshotsPage(Tab):
    """GET snapshots."""

    tab = "snapshots"

    async def get(self) -> None:
        """Say what a snapshot is."""
        _, choice = await self.chosen()
        self.show(choice)


def _published(store: Store) -> list[catalog.Revision]:
    with store.read() as session:
        return catalog.published_revisions(session)


def _disk(places: Places) -> Disk:
    usage = shutil.disk_usage(places.data)
    return Disk(usage.total, usage.free)


ROUTES = [
    Route("images", ImagesPage, {"GET": Rule(Who.PERSON, "The page Images.")}),
    Route("storage", StoragePage, {"GET": Rule(Who.PERSON, "The page Storage.")}),
    Route("snapshots", SnapshotsPage, {"GET": Rule(Who.PERSON, "The page Snapshots.")}),
]
