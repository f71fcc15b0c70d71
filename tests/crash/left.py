"""What a site has in the engine, on the machine and in its databases: all of it must be of the same starts."""

from pathlib import Path

import psutil

from bancada_hub.host.programs import PROGRAM_VARIABLE, environment_of
from bancada_hub.launch.clock import recorded_starts
from bancada_hub.launch.names import network_name
from bancada_hub.store import overlays, servers
from bancada_hub.store.database import hub_database_url
from tests.crash.kept import Server
from tests.crash.site import PROGRAMS, CrashSite


def trouble(site: CrashSite, up: set[Server]) -> dict[str, object]:
    """Return what does not fit together, by name; nothing when all does.

    Args:
        site: The site.
        up: The servers that run, as the pages say.
    """
    running, everything = site.containers(running=True), site.containers(running=False)
    starts = set(running)
    with site.store.read() as session:
        locks, rows = overlays.held(session), servers.held(session)
    found = {
        "containers that do not run": set(everything) - starts,
        "servers of which the pages say otherwise": set() if len(up) == len(starts) else (up, starts),
        "volumes": site.volumes() ^ starts,
        "locks of overlays": set(locks) ^ starts,
        "shares of the machine": {row.start_id for row in rows} ^ starts,
        "whose shares": {(row.person_name, row.project_slug) for row in rows} ^ up,
        "whose locks": {(lock.person_id, lock.project_id) for lock in locks.values()}
        ^ {(row.person_id, row.project_id) for row in rows},
        "records of the hub": set(recorded(site)) ^ starts,
        "networks": networks(site) ^ {network_name(site.installation.facts.site_id)},
        "mounts of overlays": mounted(site) ^ starts,
        "processes": strays(site, running),
        "programs that are away": {name for name in PROGRAMS if site.pid(name) is None},
    }
    return {name: what for name, what in found.items() if what}


def recorded(site: CrashSite) -> dict[str, str]:
    """Return the starts that the hub's own database has."""
    return recorded_starts(hub_database_url(site.installation.site, site.installation.places))()


def networks(site: CrashSite) -> set[str]:
    """Return the names of the networks with the site's label."""
    wanted = {"label": [f"bancada.site={site.installation.facts.site_id}"]}
    return {item["Name"] for item in site.client.api.networks(filters=wanted)}


def mounted(site: CrashSite) -> set[str]:
    """Return the starts whose environments are mounted, by the names of their volumes."""
    here = f"upperdir={site.installation.places.fs}/"
    lines = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if here in line]
    return {line.split()[4].removesuffix("/_data").rpartition("-")[2] for line in lines}


def strays(site: CrashSite, running: dict[str, str]) -> set[int] | set[str]:
    """Return the processes that reach the site's hub as a server does, and are in no container that runs.

    Where there is not one such process at all, all starts.
    """
    hub = f"http://{site.installation.facts.gateway}:{site.installation.site.port + 3}/hub/api"
    servers_here = {
        pid
        for pid in psutil.pids()
        if (variables := environment_of(pid)).get("JUPYTERHUB_API_URL") == hub and PROGRAM_VARIABLE not in variables
    }
    inside = set[int]()
    for container in running.values():
        table = site.client.api.top(container)
        at = table["Titles"].index("PID")
        inside |= {int(row[at]) for row in table["Processes"] or []}  # none: it has just ended
    return servers_here - inside if servers_here else set(running)
