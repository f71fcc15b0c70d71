"""The checks that `up` runs, and whether everything that it made is still right: for the command and for the page."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from bancada_hub.errors import BancadaError
from bancada_hub.host import connection
from bancada_hub.host.checks import Check
from bancada_hub.host.firewall import Firewall
from bancada_hub.host.pages import answer
from bancada_hub.host.probe import probe_engine
from bancada_hub.host.services import services_for
from bancada_hub.installation import Installation, read_installation
from bancada_hub.store import catalog, trace
from bancada_hub.store.database import open_store
from bancada_images.layout import verify_layout

LEAST_FREE_GIB = 5
"""GiB; the base, the server environment and one image took 2.4 GiB on Debian 12, and an update needs them twice."""


def examine(data: Path) -> Iterator[Check]:
    """Run all checks of the site in a data directory; one that fails does not keep the others from running."""
    try:
        installation = read_installation(data)
    except BancadaError as error:
        yield _failed("settings", error)
        return
    yield Check("settings", ok=True, detail=str(installation.places.settings_file))
    for name, check in CHECKS.items():
        try:
            yield from check(installation)
        except BancadaError as error:
            yield _failed(name, error)


def _failed(name: str, error: BancadaError) -> Check:
    return Check(name, ok=False, detail=error.what, fix=error.fix)


def _disk(installation: Installation) -> Iterator[Check]:
    free = shutil.disk_usage(installation.places.data).free / 1024**3
    detail = f"{free:.1f} GiB are free at {installation.places.data}; {LEAST_FREE_GIB} GiB are advised"
    yield Check("disk", free >= LEAST_FREE_GIB, detail, "Free some space: a build and people's files need it.")


def _database(installation: Installation) -> Iterator[Check]:
    store = open_store(installation.site, installation.places)
    yield Check("database", ok=True, detail=store.url.render_as_string(hide_password=True))


def _record(installation: Installation) -> Iterator[Check]:
    with open_store(installation.site, installation.places).read() as session:
        problems, last = trace.verify(session), trace.audit_entries(session, trace.Filter(limit=1))
    detail = f"the record of changes is whole; its last hash is {last[0].hash}" if last else "no change is recorded yet"
    fix = "Somebody changed the table audit by hand. Compare it with a backup, and find out who can write the database."
    yield Check("audit", not problems, " ".join(problems[:3]) or detail, fix)


def _engine(installation: Installation) -> Iterator[Check]:
    if installation.site.engine == "process":
        yield Check("engine", ok=True, detail="process engine: no containers, no isolation between people")
        return
    engine = connection.find_engine(host=installation.facts.engine_host)
    yield Check("engine", ok=True, detail=f"Docker {engine.version} at {engine.host}")
    yield from probe_engine(engine, installation.places.cache)


def _firewall(installation: Installation) -> Iterator[Check]:
    if installation.site.engine == "process":
        return
    if Firewall.of(installation).in_force():
        yield Check("firewall", ok=True, detail="the rules that keep servers apart are in force")
        return
    detail = "The rules that keep servers apart are not in force: another program may have flushed them"
    yield Check("firewall", ok=False, detail=detail, fix="Run ./bancada up, and let that program spare our table.")


def _programs(installation: Installation) -> Iterator[Check]:
    states = services_for(installation.facts.site_id, installation.places.site).status()
    for name in ("proxy", "hub", "console"):
        running = any(state.name == name and state.running for state in states)
        yield Check(
            name, running, "runs" if running else "does not run", f"Run ./bancada up; see ./bancada logs {name}"
        )
    status = answer(installation.site, "/hub/login")
    detail = f"{installation.site.url} {'answers' if status else 'does not answer'}"
    yield Check("login-page", status == 200, detail, "Run ./bancada up")


def _images(installation: Installation) -> Iterator[Check]:
    with open_store(installation.site, installation.places).read() as session:
        revisions = catalog.published_revisions(session)
    if not revisions:
        yield Check("images", ok=False, detail="No image is ready yet", fix="Run ./bancada up and let it finish.")
    for revision in revisions:
        for tree in (revision.built.lower, revision.built.server_environment):
            wrong = verify_layout(installation.places.lowers / tree) if installation.site.engine == "docker" else []
            detail = f"{revision.image_title}: {tree} is as it was built"
            if wrong:
                detail = f"{revision.image_title}: {tree} has changed on disk: {'; '.join(wrong[:3])}"
            yield Check(f"image-{revision.image_key}", not wrong, detail, "Run ./bancada up, which lays it out again.")


CHECKS: dict[str, Callable[[Installation], Iterator[Check]]] = {
    "disk": _disk,
    "database": _database,
    "audit": _record,
    "engine": _engine,
    "firewall": _firewall,
    "programs": _programs,
    "images": _images,
}
"""Each later capability adds its own."""
