"""What every spawner of a site shares: set once, by the hub's configuration, before the hub starts."""

from dataclasses import dataclass

from bancada.contract import API_PATH
from bancada_hub.host.firewall import Firewall
from bancada_hub.host.ports import Ports
from bancada_hub.installation import Installation
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store.database import Store
from bancada_images.sources import PackageSources


@dataclass(frozen=True)
class LaunchContext:
    """A site, as its spawners see it.

    Args:
        site_id: 8 hex digits, on the label of everything that this site's spawners make.
        site: Its settings.
        places: Where its things lie.
        store: Its database.
        engine_host: Address of the container engine; empty with the process engine.
        network: Name of the site's bridge; empty with the process engine.
        server_api: Where servers reach the console's server API.
        firewall: The site's; None with the process engine.
        subnet: The bridge's, with which it is made again when it is gone.
        simulated_cards: Whether the site simulates its cards.
    """

    site_id: str
    site: Site
    places: Places
    store: Store
    engine_host: str = ""
    network: str = ""
    server_api: str = ""
    firewall: Firewall | None = None
    subnet: str = ""
    simulated_cards: bool = False

    @classmethod
    def of(cls, installation: Installation, store: Store) -> "LaunchContext":
        """Return the context of an installed site."""
        facts = installation.facts
        return cls(
            site_id=facts.site_id,
            site=installation.site,
            places=installation.places,
            store=store,
            engine_host=facts.engine_host,
            network=facts.network,
            firewall=Firewall.of(installation) if facts.engine_host else None,
            subnet=facts.subnet,
            simulated_cards=facts.simulated_gpus > 0,
            server_api=f"http://{facts.gateway}:{Ports.from_base(installation.site.port).server_api}{API_PATH}",
        )

    @property
    def sources(self) -> PackageSources:
        """Where packages come from."""
        return self.site.packages.sources()
