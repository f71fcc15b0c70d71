"""`bancada down`: stop everything of a site; its data stays."""

import argparse
import contextlib
from pathlib import Path

from bancada_hub.cli.report import Report
from bancada_hub.cli.where import add_site_options
from bancada_hub.host import connection, firewall
from bancada_hub.host.services import services_for
from bancada_hub.installation import read_installation
from bancada_hub.launch import leftovers
from bancada_hub.store.database import open_store


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("down", help="stop the site and everybody's servers; data stays")
    add_site_options(parser)
    parser.add_argument("--images", action="store_true", help="also remove Bancada's images from the engine")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    return stop(arguments.data, images=arguments.images)


def stop(data: Path, *, images: bool = False) -> int:
    """Stop everything of a site; returns the exit status.

    Args:
        data: Its data directory.
        images: Whether Bancada's images go too.
    """
    installation, report = read_installation(data), Report()
    facts, containers = installation.facts, installation.site.engine == "docker"
    with report.step("Hub, console and proxy") as line:
        services_for(facts.site_id, installation.places.site).stop()
        line.outcome = "stopped"
    taken = leftovers.TakenOut()
    with report.step("People's servers") as line:
        if containers:
            with contextlib.closing(connection.connect(facts.engine_host)) as client:
                taken = leftovers.remove_servers(client, facts.site_id)
            stopped = len(taken.servers)
        else:
            stopped = leftovers.end_servers(facts.site_id)
        line.outcome = f"{stopped} stopped"
    if containers:
        with report.step("Firewall for servers") as line:
            if taken.servers_stay:
                line.unneeded("stays, as a container does")
            elif firewall.has_nft():
                firewall.Firewall.of(installation).remove()
                line.outcome = "removed"
            else:
                line.unneeded("there is no nftables here")
    if images and containers:
        with report.step("Images") as line, contextlib.closing(connection.connect(facts.engine_host)) as client:
            removed, used = leftovers.remove_images(client)
            line.outcome = f"{len(removed)} removed" + (f", still used: {', '.join(used)}" if used else "")
    with report.step("Overlays") as line:
        if taken.servers_stay:
            line.unneeded("stay, as a container does")
        else:
            leftovers.give_back_all(open_store(installation.site, installation.places))
            line.outcome = "given back"
    for sentence in taken.staying:
        report.line(sentence)
    if taken.staying:
        report.line("All else of the site is down. Data stays at " + str(installation.places.data))
        return 1
    report.line(f"The site is down. Data stays at {installation.places.data}")
    return 0
