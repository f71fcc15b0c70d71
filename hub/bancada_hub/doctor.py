"""The checks that `up` runs, and whether everything that it made is still right: for the command and for the page."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from bancada_hub.amounts import Bytes
from bancada_hub.doctor_gpu import examine_gpus
from bancada_hub.errors import BancadaError, Told, joined, told, told_exactly
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

LEAST_FREE_BYTES = Bytes(5 * 2**30)
"""The base, the server environment and one image took 2.4 GiB on Debian 12, and an update needs them twice."""


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


def examine_part(data: Path, part: str) -> Iterator[Check]:
    """Run the checks of one part alone."""
    installation = read_installation(data)
    try:
        yield from CHECKS[part](installation)
    except BancadaError as error:
        yield _failed(part, error)


def _failed(name: str, error: BancadaError) -> Check:
    return Check(name, ok=False, detail=error.what, fix=error.fix)


def _disk(installation: Installation) -> Iterator[Check]:
    free, path = Bytes(shutil.disk_usage(installation.places.data).free), installation.places.data
    detail = told("%(free)s are free at %(path)s; %(least)s are advised", free=free, path=path, least=LEAST_FREE_BYTES)
    yield Check("disk", free >= LEAST_FREE_BYTES, detail, told("Free some space: a build and people's files need it."))


def _database(installation: Installation) -> Iterator[Check]:
    store = open_store(installation.site, installation.places)
    yield Check("database", ok=True, detail=store.url.render_as_string(hide_password=True))


def _record(installation: Installation) -> Iterator[Check]:
    with open_store(installation.site, installation.places).read() as session:
        problems, last = trace.verify(session), trace.audit_entries(session, trace.Filter(limit=1))
    whole = told("the record of changes is whole; its last hash is %(hash)s", hash=last[0].hash if last else "")
    detail = joined(*problems[:3]) if problems else whole if last else told("no change is recorded yet")
    mend = told("Somebody changed the table audit by hand.")
    look = told("Compare it with a backup, and find out who can write the database.")
    yield Check("audit", not problems, detail, joined(mend, look))


def _engine(installation: Installation) -> Iterator[Check]:
    if installation.site.engine == "process":
        detail = told("process engine: no containers, no isolation between people")
        yield Check("engine", ok=True, detail=detail)
        return
    engine = connection.find_engine(host=installation.facts.engine_host)
    yield Check(
        "engine", ok=True, detail=told("Docker %(version)s at %(host)s", version=engine.version, host=engine.host)
    )
    yield from probe_engine(engine, installation.places.cache)


def _firewall(installation: Installation) -> Iterator[Check]:
    if installation.site.engine == "process":
        return
    if Firewall.of(installation).in_force():
        yield Check("firewall", ok=True, detail=told("the rules that keep servers apart are in force"))
        return
    detail = told("The rules that keep servers apart are not in force: another program may have flushed them")
    fix = told("Run ./bancada up, and let that program spare our table.")
    yield Check("firewall", ok=False, detail=detail, fix=fix)


def _programs(installation: Installation) -> Iterator[Check]:
    states = services_for(installation.facts.site_id, installation.places.site).status()
    for name in ("proxy", "hub", "console"):
        running = any(state.name == name and state.running for state in states)
        detail = told("runs") if running else told("does not run")
        yield Check(name, running, detail, told("Run ./bancada up; see ./bancada logs %(name)s", name=name))
    status, url = answer(installation.site, "/hub/login"), installation.site.url
    detail = told("%(url)s answers", url=url) if status else told("%(url)s does not answer", url=url)
    yield Check("login-page", status == 200, detail, told("Run ./bancada up"))


def _images(installation: Installation) -> Iterator[Check]:
    with open_store(installation.site, installation.places).read() as session:
        revisions = catalog.published_revisions(session)
    if not revisions:
        fix = told("Run ./bancada up and let it finish.")
        yield Check("images", ok=False, detail=told("No image is ready yet"), fix=fix)
    for revision in revisions:
        for tree in (revision.built.lower, revision.built.server_environment):
            wrong = verify_layout(installation.places.lowers / tree) if installation.site.engine == "docker" else []
            fix = told("Run ./bancada up, which lays it out again.")
            yield Check(f"image-{revision.image_key}", not wrong, _tree(revision.image_title, tree, wrong), fix)


def _tree(image: str, tree: str, wrong: list[str]) -> Told:
    """Return what was found of a tree on disk; the paths are named in English alone."""
    if not wrong:
        return told("%(image)s: %(tree)s is as it was built", image=image, tree=tree)
    changed = told("%(image)s: %(tree)s has changed on disk", image=image, tree=tree)
    return told_exactly(f"{changed}: {'; '.join(wrong[:3])}", changed)


CHECKS: dict[str, Callable[[Installation], Iterator[Check]]] = {
    "disk": _disk,
    "database": _database,
    "audit": _record,
    "engine": _engine,
    "firewall": _firewall,
    "programs": _programs,
    "images": _images,
    "gpu": examine_gpus,
}
"""Each later capability adds its own."""
