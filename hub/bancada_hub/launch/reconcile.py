"""Bringing what there is in line with what there must be: at the hub's start and on a clock, again and again.

Looking, deciding and doing are apart. What belongs to a start that the hub knows is never touched, so the starts are
asked for last: one that began after the look is not in it, and one in it was known before it made anything. Nothing
here rests on how old something is.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import docker
import psutil
from docker.errors import APIError, DockerException, NotFound
from requests.exceptions import RequestException
from sqlalchemy.orm import Session

from bancada_hub.errors import EngineError, told
from bancada_hub.host.connection import connect
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.names import ROLE_LABEL, SERVER_ROLE, SITE_LABEL, START_LABEL, network_name
from bancada_hub.launch.network import ensure_network
from bancada_hub.launch.on_host import SERVER_VARIABLE
from bancada_hub.launch.processes import end_server
from bancada_hub.launch.removal import remove_container, remove_volume
from bancada_hub.store import overlays, projects, servers

WITHIN_S = 15
"""Seconds that the engine may take for one answer."""


@dataclass(frozen=True)
class Known:
    """What the hub knows.

    Args:
        starts: Every start that is under way or up.
        up: Those whose servers have come up and that nobody is stopping.
        names: The names of their containers, or of the same as processes.
    """

    starts: frozenset[str] = frozenset()
    up: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Thing:
    """Something with labels in the engine.

    Args:
        id: How the engine knows it.
        site_id: Whose it is.
        start_id: The start that made it; empty for a network.
        running: Whether it is a container that runs.
    """

    id: str
    site_id: str
    start_id: str = ""
    running: bool = False


@dataclass(frozen=True)
class Seen:
    """Everything at one look.

    Args:
        site_id: This site.
        known: What the hub knows: `up` as it was before the look, `starts` and `names` as they are after it.
        has_engine: Whether the site's servers are containers.
        containers: Those of servers.
        volumes: Those of servers.
        networks: Bridges, by name.
        processes: Names of servers that are processes of this machine, all sites'.
        holding: Starts that hold an overlay or a share of the machine.
        outside: Of these, those whose person is no longer in the project, or is switched off.
    """

    site_id: str
    known: Known
    has_engine: bool = True
    containers: tuple[Thing, ...] = ()
    volumes: tuple[Thing, ...] = ()
    networks: tuple[Thing, ...] = ()
    processes: frozenset[str] = frozenset()
    holding: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()


class Kind(StrEnum):
    """What can be done, in the order in which it is done."""

    REMOVE_CONTAINER = "remove the container"
    REMOVE_VOLUME = "remove the volume"
    REMOVE_NETWORK = "remove the network"
    MAKE_NETWORK = "make the bridge again"
    END_PROCESSES = "end the processes of"
    RELEASE = "give back what this start held:"
    LOOK = "look at a server that has ended:"
    STOP = "stop the server of somebody who is not in the project any more, or switched off:"


FOR_HUB = frozenset({Kind.LOOK, Kind.STOP})
"""What only the hub's own spawners can do."""


@dataclass(frozen=True)
class Action:
    """One thing to do; `subject` is a container's id, a name, or for the last three kinds a start."""

    kind: Kind
    subject: str
    start_id: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.subject[:40]}"


def decide(seen: Seen) -> tuple[Action, ...]:
    """Return what has to be done so that nothing is left over, and nothing that is needed is missing."""
    known, actions = seen.known, list[Action]()
    for kind, things in ((Kind.REMOVE_CONTAINER, seen.containers), (Kind.REMOVE_VOLUME, seen.volumes)):
        lost = (thing for thing in things if thing.site_id == seen.site_id and thing.start_id not in known.starts)
        actions += [Action(kind, thing.id, thing.start_id) for thing in lost]
    bridge = network_name(seen.site_id)
    own = {thing.id for thing in seen.networks if thing.site_id == seen.site_id}
    actions += [Action(Kind.REMOVE_NETWORK, name) for name in sorted(own - {bridge})]
    if seen.has_engine and bridge not in own:
        actions.append(Action(Kind.MAKE_NETWORK, bridge))
    ours = {name for name in seen.processes if name.startswith(f"{bridge}-")}
    actions += [Action(Kind.END_PROCESSES, name) for name in sorted(ours - known.names)]
    actions += [Action(Kind.RELEASE, start, start) for start in sorted(seen.holding - known.starts)]
    up = known.up & known.starts
    if seen.has_engine:
        running = {thing.start_id for thing in seen.containers if thing.running}
        actions += [Action(Kind.LOOK, start, start) for start in sorted(up - running)]
        up &= running
    actions += [Action(Kind.STOP, start, start) for start in sorted(up & seen.outside)]
    return tuple(actions)


def reconcile(context: LaunchContext, known: Callable[[], Known]) -> tuple[list[Action], list[str]]:
    """Look, decide, and do all but what only the hub's spawners can do.

    Args:
        context: The site.
        known: Says what the hub knows at that instant.

    Returns:
        What was decided, and what could not be done, in words.

    Raises:
        EngineError: The engine does not answer; then nothing was done.
        StoreError: The database does not.
    """
    with _client(context.engine_host) as client:
        seen = look(context, client, known)
        actions = decide(seen)
        return list(actions), _apply(context, client, actions)


def look(context: LaunchContext, client: docker.DockerClient | None, known: Callable[[], Known]) -> Seen:
    """Look at everything that a site may leave behind."""
    before = known()
    containers, volumes, networks = _of_engine(client, context.site_id) if client else ((), (), ())
    processes = frozenset() if client else _processes()
    with context.store.read() as session:
        holding, outside = _holding(session)
    after = known()
    return Seen(
        site_id=context.site_id,
        known=Known(after.starts, before.up, after.names),
        has_engine=client is not None,
        containers=containers,
        volumes=volumes,
        networks=networks,
        processes=processes,
        holding=holding,
        outside=outside,
    )


def _apply(context: LaunchContext, client: docker.DockerClient | None, actions: Iterable[Action]) -> list[str]:
    failed: dict[str, str] = {}
    for action in actions:
        if action.kind in FOR_HUB or (action.kind is Kind.RELEASE and action.start_id in failed):
            continue  # what could not be removed may still use what it holds
        try:
            _do(context, client, action)
        except (APIError, EngineError) as error:
            failed[action.start_id or action.subject] = f"{action}: {error}"
    return list(failed.values())


def _do(context: LaunchContext, client: docker.DockerClient | None, action: Action) -> None:
    if action.kind is Kind.RELEASE:
        with context.store.write() as session:
            overlays.release(session, action.subject)
            servers.release(session, action.subject)
    elif action.kind is Kind.END_PROCESSES:
        end_server(action.subject, 0)
    elif client is not None and action.kind is Kind.REMOVE_CONTAINER:
        remove_container(client, action.subject)
    elif client is not None and action.kind is Kind.REMOVE_VOLUME:
        remove_volume(client, action.subject)
    elif client is not None and action.kind is Kind.REMOVE_NETWORK:
        with contextlib.suppress(NotFound):
            client.api.remove_network(action.subject)
    elif client is not None and action.kind is Kind.MAKE_NETWORK:
        ensure_network(client, context.site_id, context.subnet or None)
        if context.firewall:
            context.firewall.hold()


@contextlib.contextmanager
def _client(host: str) -> Iterator[docker.DockerClient | None]:
    if not host:
        yield None
        return
    try:
        with contextlib.closing(connect(host, WITHIN_S)) as client:
            yield client
    except (DockerException, RequestException) as error:
        msg = told("The container engine does not answer.")
        raise EngineError(msg, fix=told("Run: ./bancada doctor")) from error


def _of_engine(
    client: docker.DockerClient, site_id: str
) -> tuple[tuple[Thing, ...], tuple[Thing, ...], tuple[Thing, ...]]:
    site = f"{SITE_LABEL}={site_id}"
    wanted = {"label": [site, f"{ROLE_LABEL}={SERVER_ROLE}"]}
    containers = [
        _thing(found["Id"], found["Labels"], running=found["State"] in {"running", "paused"})
        for found in client.api.containers(all=True, filters=wanted)
    ]
    volumes = [_thing(found["Name"], found["Labels"]) for found in client.api.volumes(filters=wanted)["Volumes"] or []]
    networks = [_thing(found["Name"], found["Labels"]) for found in client.api.networks(filters={"label": [site]})]
    return tuple(containers), tuple(volumes), tuple(networks)


def _thing(name: str, labels: dict[str, str] | None, *, running: bool = False) -> Thing:
    found = labels or {}
    return Thing(name, found.get(SITE_LABEL, ""), found.get(START_LABEL, ""), running)


def _processes() -> frozenset[str]:
    names = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.status() != psutil.STATUS_ZOMBIE:
                names.add(process.environ().get(SERVER_VARIABLE, ""))
    return frozenset(names - {""})


def _holding(session: Session) -> tuple[frozenset[str], frozenset[str]]:
    rows = servers.held(session)
    gone = set(projects.outsiders(session, [(row.person_name, row.project_slug) for row in rows]))
    outside = {row.start_id for row in rows if (row.person_name, row.project_slug) in gone}
    return frozenset({*overlays.held(session), *(row.start_id for row in rows)}), frozenset(outside)


def summary(actions: Collection[Action]) -> str:
    """Return actions in words, for a log."""
    return "; ".join(map(str, actions))
