"""The plan of one server: everything an engine is asked for, computed from facts alone.

`plan` decides and refuses; a spawner turns its answer into an engine call and adds nothing. The same facts and
choices give the same plan, whatever the engine, and `plan_hash` names it: a container's label says which plan it runs.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from bancada.contract import ENVIRONMENT_GID, RUNTIME_DIRECTORY
from bancada_hub.errors import LaunchRefused, told
from bancada_hub.host.egress import serves_mirror_only
from bancada_hub.launch.choices import WITHOUT_GPU, Choices, Kind
from bancada_hub.launch.environment import Inside, server_environment
from bancada_hub.launch.names import PLAN_LABEL, START_LABEL, ServerKey, container_name, volume_name
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.sizes import MIB, Limits, Size, Sizes, Ulimit, default_size
from bancada_hub.naming import shown
from bancada_hub.places import Places
from bancada_hub.store.projects import Egress
from bancada_images.sources import PackageSources

COMMAND = ("/opt/bancada/bin/python", "-I", "-m", "bancada.server")
"""-I: neither variables nor a file in the home change what the server imports."""

_ACCOUNT = re.compile(r"[a-z][a-z0-9._-]{0,31}")
_TREE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Who:
    """The person a server is for. `language` is what they chose in their profile; empty follows the page."""

    name: str
    uid: int
    disabled: bool
    must_change_password: bool = False
    language: str = ""


@dataclass(frozen=True)
class Where:
    """The project a server works for, whether the person is in it, and where its servers may reach."""

    id: int
    slug: str
    gid: int
    member: bool
    archived: bool = False
    egress: Egress = "open"


@dataclass(frozen=True)
class What:
    """The published revision a server starts from.

    Args:
        digest: The image's id, `sha256:…`; with the process engine the environment's key.
        tag: The immutable local tag that must still name this id.
        lower: Name of the work environment's tree below `<data>/lowers`; also names the overlay's base.
        server_environment: Name of the server environment's tree below `<data>/lowers`.
    """

    digest: str
    tag: str
    lower: str
    server_environment: str


@dataclass(frozen=True)
class Facts:
    """All that a plan depends on.

    Args:
        site_id: 8 hex digits.
        places: Where the site's things lie.
        sources: Where packages come from.
        sizes: What a server of each size may use.
        network: The site's bridge; empty with the process engine.
        server_name: The named server that JupyterHub was asked for.
        who: The person, if there is one of this name.
        where: The project of this server's name, if there is one.
        what: The published revision, if there is one.
        preparation: How far the site's preparation is, in words for a researcher; empty when it has ended.
        server_api: Where the server reaches the site.
        last_size: The size that the person last started with in this project; empty before the first start.
        cards: UUIDs of the cards that were granted to this person here and wait for their start.
        simulated_cards: Whether the site's cards are simulated: there is no device to give.
    """

    site_id: str
    places: Places
    sources: PackageSources
    sizes: Sizes
    network: str
    server_name: str
    who: Who | None
    where: Where | None
    what: What | None
    preparation: str
    server_api: str = ""
    last_size: str = ""
    cards: tuple[str, ...] = ()
    simulated_cards: bool = False


@dataclass(frozen=True)
class Overlay:
    """What is stacked at /opt/env: read-only lower directories, topmost first, and what the person changed."""

    lowers: tuple[Path, ...]
    upper: Path
    work: Path


@dataclass(frozen=True)
class Mount:
    """A file or folder of this machine, seen in the server."""

    source: Path
    target: str
    read_only: bool


@dataclass(frozen=True)
class Tmpfs:
    """A file system in memory that belongs to the person."""

    target: str
    size_bytes: int


@dataclass(frozen=True)
class Resources:
    """What a server gets. `gpu_uuids` are the cards of its lease, which are no devices where they are simulated."""

    gpu_uuids: tuple[str, ...]
    simulated_cards: bool
    cpus: float
    memory_bytes: int
    shm_bytes: int
    pids: int
    ulimits: tuple[Ulimit, ...]


@dataclass(frozen=True)
class LaunchPlan:
    """One server, completely.

    Args:
        key: Which server this is.
        kind: `work` or `rescue`.
        size: `s`, `m` or `l`.
        user: The person's account name.
        project: The project's slug.
        gid: The project's group, the first group of every process.
        groups: Further groups.
        image_digest: The image's id.
        image_tag: The tag that must still name it.
        base: Name of the work environment's tree, of which the overlay holds the changes.
        overlay: What is mounted at /opt/env; None leaves the image's own, without the person's changes.
        mounts: What of this machine is seen inside.
        tmpfs: File systems in memory.
        resources: CPU, memory, cards, limits.
        environment: Variables, sorted by name. The hub's own, with the server's token, are not part of a plan.
        network: The bridge.
        egress: What the server reaches: `open`, `mirror` or `none`; it decides which addresses it may get.
        command: What is run.
    """

    key: ServerKey
    kind: Kind
    size: Size
    user: str
    project: str
    gid: int
    groups: tuple[int, ...]
    image_digest: str
    image_tag: str
    base: str
    overlay: Overlay | None
    mounts: tuple[Mount, ...]
    tmpfs: tuple[Tmpfs, ...]
    resources: Resources
    environment: tuple[tuple[str, str], ...]
    network: str
    egress: Egress
    command: tuple[str, ...]

    @property
    def uid(self) -> int:
        """The person's uid."""
        return self.key.uid

    @property
    def container_name(self) -> str:
        """The name of the server's container."""
        return container_name(self.key)

    @property
    def plan_hash(self) -> str:
        """sha256 of the plan as canonical JSON, in hex: equal plans, equal hashes."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def volume_name(self, start_id: str) -> str:
        """Return the name of the overlay volume for one start."""
        return volume_name(self.key, start_id)

    def labels(self, start_id: str) -> dict[str, str]:
        """Return the labels of what one start creates."""
        return self.key.labels | {START_LABEL: start_id, PLAN_LABEL: self.plan_hash}


def plan(facts: Facts, choices: Choices) -> LaunchPlan:
    """Compute the plan of a server.

    Args:
        facts: All that is known.
        choices: What the person chose.

    Raises:
        LaunchRefused: The server may not, or cannot, start; the message says why and what to do.
    """
    who = _person(facts.who)
    where = _project(facts, who)
    what = _revision(facts)
    key = ServerKey(facts.site_id, who.uid, where.id)
    size = default_size(choices.size or facts.last_size)
    overlay = _overlay(facts, key, what) if choices.kind == "work" else None
    cards = () if choices.gpu == WITHOUT_GPU else facts.cards
    inside = Inside(
        user=who.name,
        project=where.slug,
        kind=choices.kind,
        revision=what.digest,
        sources=facts.sources,
        server_api=facts.server_api,
        language=who.language or choices.language,
        cards=cards,
        simulated_cards=facts.simulated_cards,
    )
    return LaunchPlan(
        key=key,
        kind=choices.kind,
        size=size,
        user=who.name,
        project=where.slug,
        gid=where.gid,
        groups=(ENVIRONMENT_GID,) if overlay else (),
        image_digest=what.digest,
        image_tag=what.tag,
        base=what.lower,
        overlay=overlay,
        mounts=_mounts(facts, key, who, what),
        tmpfs=(Tmpfs(RUNTIME_DIRECTORY, 64 * MIB), Tmpfs("/places", MIB)),
        resources=_resources(facts.sizes.of(size), cards, simulated=facts.simulated_cards),
        environment=tuple(sorted(server_environment(inside).items())),
        network=facts.network,
        egress=_egress(facts, where),
        command=COMMAND,
    )


def _person(who: Who | None) -> Who:
    if who is None:
        raise LaunchRefused(
            told("This account is not known here any more."),
            fix=told("Sign out and in again."),
            reason=Reason.UNKNOWN_PERSON,
        )
    if who.disabled:
        raise LaunchRefused(
            told("This account is disabled."), fix=told("Ask an administrator."), reason=Reason.DISABLED
        )
    if who.must_change_password:
        raise LaunchRefused(
            told("Somebody else knows this account's password."),
            fix=told("Choose one of your own first."),
            reason=Reason.PASSWORD_TO_CHANGE,
        )
    if not _ACCOUNT.fullmatch(who.name):
        raise LaunchRefused(
            told("The account name “%(name)s” cannot be used on a machine.", name=shown(who.name)),
            fix=told("Ask an administrator: small letters, digits and . _ - can be in a name."),
            reason=Reason.UNKNOWN_PERSON,
        )
    return who


def _project(facts: Facts, who: Who) -> Where:
    if not facts.server_name:
        raise LaunchRefused(
            told("Work is always in a project."),
            fix=told("Open the page Work and start from one of your projects."),
            reason=Reason.UNNAMED_SERVER,
        )
    if facts.where is None:
        # The same words as for a project that one is not in, so that nobody learns which projects there are.
        raise _not_yours(facts.server_name, who, Reason.UNKNOWN_PROJECT)
    if not facts.where.member:
        raise _not_yours(facts.server_name, who, Reason.NOT_A_MEMBER)
    if facts.where.archived:
        raise LaunchRefused(
            told(
                "The project “%(slug)s” is archived: its files are kept, and nothing starts in it.",
                slug=facts.where.slug,
            ),
            fix=told("Ask a lead of its lab to open it again, or work in another project."),
            reason=Reason.ARCHIVED,
        )
    return facts.where


def _egress(facts: Facts, where: Where) -> Egress:
    if where.egress != "open" and not facts.network:
        raise LaunchRefused(
            told(
                "The project “%(slug)s” may not reach the network freely, and servers without containers cannot be "
                "held to that.",
                slug=where.slug,
            ),
            fix=told("Ask an administrator: this needs the docker engine."),
            reason=Reason.EGRESS,
        )
    # Public package indexes stand behind networks that serve half the world: there is no address to allow.
    if where.egress == "mirror" and not serves_mirror_only(facts.sources):
        raise LaunchRefused(
            told(
                "The project “%(slug)s” may reach the site's package mirror only, and the site has none.",
                slug=where.slug,
            ),
            fix=told(
                "Ask an administrator to set packages.index_url, a proxy or a wheelhouse, or a lead to change what the "
                "project may reach."
            ),
            reason=Reason.EGRESS,
        )
    return where.egress


def _not_yours(slug: str, who: Who, reason: Reason) -> LaunchRefused:
    return LaunchRefused(
        told("%(name)s has no project “%(slug)s”.", name=who.name, slug=shown(slug)),
        fix=told("Ask its lead to be added, or work in another one."),
        reason=reason,
    )


def _revision(facts: Facts) -> What:
    what = facts.what
    if what is None:
        fix = "" if facts.preparation else told("Ask an administrator to run ./bancada up")
        missing = facts.preparation or told("The site has no image yet.")
        raise LaunchRefused(missing, fix=fix, reason=Reason.NO_IMAGE_YET)
    for tree in (what.lower, what.server_environment):
        if not _TREE.fullmatch(tree):
            msg = told("The image's record names an impossible folder, “%(tree)s”.", tree=shown(tree))
            fix = told("Ask an administrator to run ./bancada up")
            raise LaunchRefused(msg, fix=fix, reason=Reason.ENVIRONMENT_MISSING)
    return what


def _overlay(facts: Facts, key: ServerKey, what: What) -> Overlay:
    folder = facts.places.overlay(key.project_id, key.uid, what.lower)
    return Overlay(lowers=(facts.places.lowers / what.lower,), upper=folder / "upper", work=folder / "work")


def _mounts(facts: Facts, key: ServerKey, who: Who, what: What) -> tuple[Mount, ...]:
    places, identity = facts.places, facts.places.identities / f"{key.uid}-{key.project_id}"
    return (
        Mount(places.lowers / what.server_environment, "/opt/bancada", read_only=True),
        Mount(places.home(key.uid), f"/home/{who.name}", read_only=False),
        Mount(places.project_files(key.project_id), "/project", read_only=False),
        Mount(places.datasets, "/data", read_only=True),
        Mount(places.examples, "/examples", read_only=True),
        Mount(places.state(key.uid), "/state", read_only=False),
        Mount(identity / "passwd", "/etc/passwd", read_only=True),
        Mount(identity / "group", "/etc/group", read_only=True),
        Mount(places.identities / "gitconfig", "/etc/gitconfig", read_only=True),
        *(Mount(bind.source, bind.target, read_only=True) for bind in facts.sources.runtime_mounts()),
    )


def _resources(limits: Limits, cards: tuple[str, ...], *, simulated: bool) -> Resources:
    return Resources(
        gpu_uuids=cards,
        simulated_cards=simulated,
        cpus=limits.cpus,
        memory_bytes=limits.memory_bytes,
        shm_bytes=limits.shm_bytes,
        pids=limits.pids,
        ulimits=limits.ulimits,
    )
