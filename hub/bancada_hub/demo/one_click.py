"""Signing in with one click: on the sign-in page of a demo on this machine's own address, and nowhere else."""

import ipaddress

from bancada_hub.demo.town import PASSWORD, PEOPLE
from bancada_hub.installation import Installation


def one_click_people(installation: Installation) -> tuple[dict[str, str], ...]:
    """Return whom a visitor may sign in as without typing; nobody but at a demo that this machine alone can reach.

    Args:
        installation: The site.
    """
    if not installation.facts.demo or not _is_own(installation.site.bind):
        return ()
    return tuple(
        {"name": each.name, "title": each.title, "role": each.role, "password": PASSWORD}
        for each in PEOPLE
        if not each.crowd
    )


def _is_own(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
