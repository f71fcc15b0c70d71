"""What `bancada up` found out and chose about this machine, kept for the programs that it starts."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from bancada_hub.errors import SettingsError
from bancada_hub.places import Places
from bancada_hub.site import Site, check_data_directory, load_site


@dataclass(frozen=True)
class Facts:
    """What is kept in `<data>/site/installation.json`.

    Args:
        site_id: 8 hex digits, made at the first `up`; on every container, network and volume of this site.
        engine_host: Address of the container engine; empty with the process engine.
        network: Name of the site's bridge; empty with the process engine.
        gateway: The bridge's address on this machine, on which the hub's API listens.
        subnet: The bridge's network.
        bridge: The bridge's interface, by which firewall rules know it.
        simulated_gpus: How many cards the site simulates; 0 for those of the machine.
        demo: Whether this is the throw-away site of `bancada demo`.
    """

    site_id: str
    engine_host: str = ""
    network: str = ""
    gateway: str = "127.0.0.1"
    subnet: str = ""
    bridge: str = ""
    simulated_gpus: int = 0
    demo: bool = False


@dataclass(frozen=True)
class Installation:
    """A site as it stands on this machine."""

    places: Places
    site: Site
    facts: Facts


def read_installation(data: Path) -> Installation:
    """Read what the site at `data` is.

    Raises:
        SettingsError: There is none, its settings are wrong, or `up` never got as far as this.
    """
    check_data_directory(data)
    places = Places(data)
    site = load_site(places)
    facts = read_facts(places)
    if facts is None:
        msg = f"The site at {data} has not been set up yet."
        raise SettingsError(msg, fix="Run ./bancada up")
    return Installation(places, site, facts)


def read_facts(places: Places) -> Facts | None:
    """Return the kept facts, or None before the first `up`."""
    try:
        text = _file(places).read_text()
    except FileNotFoundError:
        return None
    except PermissionError:
        msg = f"{_file(places)} may not be read by this account."
        raise SettingsError(msg, fix="Run the command as the account that made the site (root).") from None
    return Facts(**json.loads(text))


def keep_facts(places: Places, facts: Facts) -> None:
    """Write the facts, whole or not at all."""
    path = _file(places)
    partial = path.with_suffix(".partial")
    with partial.open("w") as file:
        json.dump(asdict(facts), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def new_site_id() -> str:
    """Return an id for a new site."""
    return secrets.token_hex(4)


def _file(places: Places) -> Path:
    return places.site / "installation.json"
