"""The tabs GPUs, Images, Storage and Snapshots: what is known already, and nothing else."""

import shutil
from dataclasses import dataclass

from bancada_hub.console.access import Who
from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.handlers.work import preparation_part
from bancada_hub.console.projects import read_records
from bancada_hub.console.routes import Route, Rule
from bancada_hub.gpus.nvml import read_inventory
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


class GpusPage(Acting):
    """GET gpus."""

    async def get(self) -> None:
        """Show the machine's cards, or why none can be read."""
        self.finish(self.page("gpus.html", tab="gpus", found=await self.do(read_inventory)))


class ImagesPage(Acting):
    """GET images."""

    async def get(self) -> None:
        """Show the published images."""
        records = await self.do(read_records, self.store, self.person_name)
        published = await self.do(_published, self.store)
        part = preparation_part(self, records)
        self.finish(self.page("images.html", tab="images", published=published, preparation_part=part))


class StoragePage(Acting):
    """GET storage."""

    async def get(self) -> None:
        """Show the disk that all files are on."""
        disk = await self.do(_disk, self.context.launch.places)
        self.finish(self.page("storage.html", tab="storage", disk=disk))


class SnapshotsPage(Acting):
    """GET snapshots."""

    def get(self) -> None:
        """Say what a snapshot is."""
        self.finish(self.page("snapshots.html", tab="snapshots"))


def _published(store: Store) -> list[catalog.Revision]:
    with store.read() as session:
        return catalog.published_revisions(session)


def _disk(places: Places) -> Disk:
    usage = shutil.disk_usage(places.data)
    return Disk(usage.total, usage.free)


ROUTES = [
    Route("gpus", GpusPage, {"GET": Rule(Who.PERSON, "The page GPUs.")}),
    Route("images", ImagesPage, {"GET": Rule(Who.PERSON, "The page Images.")}),
    Route("storage", StoragePage, {"GET": Rule(Who.PERSON, "The page Storage.")}),
    Route("snapshots", SnapshotsPage, {"GET": Rule(Who.PERSON, "The page Snapshots.")}),
]
