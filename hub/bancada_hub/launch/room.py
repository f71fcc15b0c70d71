"""Reading what decisions about room depend on: the machine, and who holds what in the database."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from bancada_hub.errors import LaunchRefused, told
from bancada_hub.host.machine import Machine, read_machine
from bancada_hub.launch import admission, sizes
from bancada_hub.launch.plan import LaunchPlan
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.ulimits import server_ulimits
from bancada_hub.roles import Action, may
from bancada_hub.site import Site
from bancada_hub.store import labs, people, projects, server_ends, servers
from bancada_hub.store.database import Store
from bancada_hub.store.standing import standing_of


@dataclass(frozen=True)
class Offer:
    """A size, as a person can choose it now.

    Args:
        size: `s`, `m` or `l`.
        memory_bytes: Its memory limit.
        cpus: Its CPU limit, in cores.
        refusal: Why it does not fit now, and what to do; None when it fits.
    """

    size: sizes.Size
    memory_bytes: int
    cpus: float
    refusal: admission.NoRoom | None

    @property
    def fits(self) -> bool:
        """Whether it can be started now."""
        return self.refusal is None


@dataclass(frozen=True)
class Offers:
    """The sizes that a person can start with in a project. `usual` is that of the start before, else M."""

    offered: tuple[Offer, ...]
    usual: sizes.Size


@dataclass(frozen=True)
class Use:
    """What servers hold, of what they may hold; None where there is no ceiling."""

    servers: int
    memory_bytes: int
    cpus: float
    max_memory_bytes: int | None
    max_cpus: float | None


def machine_of(site: Site) -> Machine:
    """Return what this machine has for a site."""
    return read_machine(own_group=site.engine == "process")


def sizes_here(site: Site) -> sizes.Sizes:
    """Return the sizes of servers of a site on this machine."""
    return sizes.sizes(site.server, machine_of(site), server_ulimits(site.server.nofile))


def capacity_here(site: Site) -> sizes.Capacity:
    """Return what servers of a site may hold together on this machine."""
    return sizes.capacity(site.server, machine_of(site))


def read_offers(store: Store, site: Site, person_id: int, project: projects.Project) -> Offers:
    """Return the sizes for a start, and which of them fit at this instant.

    Args:
        store: The database.
        site: Its settings.
        person_id: Who would start.
        project: Where; the person is in it.
    """
    of_site = sizes_here(site)
    with store.read() as session:
        situation = read_situation(session, site, person_id, project)
        last = servers.last_size(session, project.id, person_id)
    offered = [(size, of_site.of(size), admission.decide(size, of_site, situation)) for size in sizes.SIZES]
    return Offers(
        tuple(Offer(size, limits.memory_bytes, limits.cpus, refusal) for size, limits, refusal in offered),
        sizes.default_size(last),
    )


def read_situation(session: Session, site: Site, person_id: int, project: projects.Project) -> admission.Situation:
    """Return what a decision about a start depends on, as the session's transaction sees it."""
    held = tuple(servers.held(session))
    lab = labs.get_lab(session, project.lab_id) if project.lab_id is not None else None
    all_of_it = capacity_here(site)
    return admission.Situation(
        asker=admission.Asker(
            person_id=person_id,
            project_id=project.id,
            project=project.slug,
            lab_id=project.lab_id,
            sees=_seen(session, person_id, held),
        ),
        machine=admission.Ceiling(all_of_it.memory_bytes, all_of_it.cpus),
        project=admission.Ceiling(project.max_memory_bytes, project.max_cpus),
        lab=admission.Ceiling(lab.max_memory_bytes, lab.max_cpus) if lab else admission.Ceiling(),
        held=held,
    )


def use_of(held: list[servers.HeldServer], ceiling: admission.Ceiling) -> Use:
    """Add up what servers hold."""
    return Use(
        servers=len(held),
        memory_bytes=sum(server.memory_bytes for server in held),
        cpus=sum(server.cpus for server in held),
        max_memory_bytes=ceiling.memory_bytes,
        max_cpus=ceiling.cpus,
    )


def check_room(store: Store, site: Site, made: LaunchPlan) -> None:
    """Refuse a planned start that would not fit now, before anything of it is done; `claim_room` decides.

    Raises:
        LaunchRefused: It does not fit, or its person or project is gone.
    """
    with store.read() as session:
        _fitting(session, site, made)


def claim_room(session: Session, site: Site, made: LaunchPlan, start_id: str) -> people.Person:
    """Decide about a planned start and write down what it holds, in one writing transaction.

    Raises:
        LaunchRefused: It does not fit, or its person or project is gone.
    """
    person = _fitting(session, site, made)
    new = servers.NewServer(
        start_id=start_id,
        person_id=person.id,
        project_id=made.key.project_id,
        kind=made.kind,
        size=made.size,
        memory_bytes=made.resources.memory_bytes,
        cpus=made.resources.cpus,
    )
    servers.claim(session, new)
    server_ends.forget_end(session, new.project_id, new.person_id)
    return person


def _fitting(session: Session, site: Site, made: LaunchPlan) -> people.Person:
    person = people.find_person(session, made.user)
    project = projects.find_project(session, made.project)
    if person is None or project is None:
        raise LaunchRefused(
            told("This account or project is gone."), fix=told("Ask an administrator."), reason=Reason.UNKNOWN_PERSON
        )
    refusal = admission.decide(made.size, sizes_here(site), read_situation(session, site, person.id, project))
    if refusal is not None:
        raise LaunchRefused(refusal.what, fix=refusal.fix, reason=refusal.reason)
    return person


def _seen(session: Session, person_id: int, held: tuple[servers.HeldServer, ...]) -> frozenset[int]:
    standing = standing_of(session, person_id)
    return frozenset(each.project_id for each in held if may(standing, Action.SEE_PROJECT, each.subject))
