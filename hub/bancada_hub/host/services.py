"""What keeps hub, console and proxy running: systemd where it runs the machine, else one supervisord a site."""

import os
from pathlib import Path

from bancada_hub.host.daemon import has_systemd
from bancada_hub.host.programs import Program, ProgramState, Services
from bancada_hub.host.supervised import SupervisedServices
from bancada_hub.host.systemd import SystemdServices

__all__ = ["Program", "ProgramState", "Services", "services_for"]


def services_for(site_id: str, site_dir: Path) -> Services:
    """Return what keeps the programs of a site running on this machine.

    Args:
        site_id: The site's 8 hex digits.
        site_dir: `<data>/site`.
    """
    if has_systemd() and os.geteuid() == 0:
        return SystemdServices(site_id, site_dir)
    return SupervisedServices(site_id, site_dir)
