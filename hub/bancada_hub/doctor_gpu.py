"""The part of the doctor that looks at NVIDIA cards: the machine, the toolkit, the engine, and a container as proof."""

import contextlib
from collections.abc import Iterator

from bancada_hub.errors import told
from bancada_hub.gpus.nvml import read_inventory
from bancada_hub.host import connection
from bancada_hub.host.checks import Check
from bancada_hub.host.gpu_host import GpuHost, check_host, read_host
from bancada_hub.host.gpu_toolkit import prove
from bancada_hub.installation import Installation
from bancada_hub.store import catalog
from bancada_hub.store.database import open_store


def gpu_host(installation: Installation) -> tuple[GpuHost, list[str]]:
    """Return what the machine has for GPUs, and the UUIDs of its whole cards."""
    inventory = read_inventory()
    engine: dict[str, object] = {}
    if installation.site.engine == "docker":
        with contextlib.closing(connection.connect(installation.facts.engine_host)) as client:
            engine = {**client.info(), "ApiVersion": client.version()["ApiVersion"]}
    found = read_host(engine, inventory.driver or "", str(inventory.reason or ""))
    return found, [card.uuid for card in inventory.cards]


def examine_gpus(installation: Installation) -> Iterator[Check]:
    """Look at everything that servers need to have cards; with all of it there, prove it with a container."""
    if installation.facts.simulated_gpus:
        simulated = told("This site's cards are simulated: nothing of them is on the machine.")
        yield Check("gpu-card", ok=True, detail=simulated)
        return
    found, cards = gpu_host(installation)
    checks = check_host(found)
    yield from checks
    if installation.site.engine != "docker" or not cards or not all(check.ok for check in checks):
        return
    with open_store(installation.site, installation.places).read() as session:
        revisions = catalog.published_revisions(session)
    if revisions:
        with contextlib.closing(connection.connect(installation.facts.engine_host)) as client:
            yield prove(client, revisions[0].built.digest, cards[0])
