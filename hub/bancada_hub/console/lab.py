"""What the pages of labs read from the database, each in one transaction, and only what the reader may see."""

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.orm import Session

from bancada_hub.console.errors import NotThereError
from bancada_hub.gpus.rule_words import RuleView, rules_of
from bancada_hub.launch.admission import Ceiling
from bancada_hub.launch.room import Use, use_of
from bancada_hub.roles import Action, Standing, Subject, may
from bancada_hub.store import labs, people, projects, servers
from bancada_hub.store.database import Store


@dataclass(frozen=True)
class ProjectView:
    """A project as its leads see it.

    Args:
        project: The project.
        members: Who is in it.
        may_archive: Whether the reader may archive it.
        use: What its servers hold now, of what they may hold.
        may_divide: Whether the reader may say what it has of the GPUs.
        rules: What holds for a time.
    """

    project: projects.Project
    members: tuple[projects.Member, ...]
    may_archive: bool
    use: Use
    may_divide: bool = False
    rules: tuple[RuleView, ...] = ()


@dataclass(frozen=True)
class LabView:
    """A lab as one reader sees it.

    Args:
        lab: The lab.
        leads: Who leads it.
        projects: Those of its projects that the reader leads.
        others: All labs that the reader may see, this one too.
        may_create: Whether the reader may make projects here.
        may_change: Whether the reader may change its title.
        may_lead: Whether the reader may say who leads it, and archive it.
        use: What the servers of all its projects hold now, of what they may hold.
    """

    lab: labs.Lab
    leads: tuple[people.Person, ...]
    projects: tuple[ProjectView, ...]
    others: tuple[labs.Lab, ...]
    may_create: bool
    may_change: bool
    may_lead: bool
    use: Use


@dataclass(frozen=True)
class LabRow:
    """A lab in the list of all, with its number of projects in use and what its servers hold."""

    lab: labs.Lab
    leads: tuple[people.Person, ...]
    projects: int
    use: Use
    rules: tuple[RuleView, ...] = ()


def read_lab(store: Store, standing: Standing, slug: str) -> LabView:
    """Return a lab as a person of this standing sees it.

    Raises:
        NotThereError: There is no such lab.
    """
    with store.read() as session:
        lab = labs.find_lab(session, slug)
        if lab is None:
            raise NotThereError
        subject = Subject(lab_id=lab.id)
        held = servers.held(session)
        rows = [each for each in projects.all_projects(session, lab_id=lab.id) if _leads(standing, each)]
        return LabView(
            lab=lab,
            leads=tuple(labs.lab_leads(session, lab.id)),
            projects=tuple(_project(session, standing, each, held) for each in rows),
            others=tuple(_visible(session, standing)),
            may_create=may(standing, Action.CREATE_PROJECT, subject) and lab.archived_at is None,
            may_change=may(standing, Action.CHANGE_LAB, subject),
            may_lead=may(standing, Action.SET_LAB_LEADS, subject),
            use=_use_of_lab(lab, held),
        )


def visible_labs(store: Store, standing: Standing) -> list[labs.Lab]:
    """Return the labs whose pages a person of this standing may see."""
    with store.read() as session:
        return _visible(session, standing)


def all_labs(store: Store) -> list[LabRow]:
    """Return every lab with its leads, its number of projects in use, and what its servers hold."""
    with store.read() as session:
        held = servers.held(session)
        return [
            LabRow(
                lab,
                tuple(labs.lab_leads(session, lab.id)),
                sum(each.archived_at is None for each in projects.all_projects(session, lab_id=lab.id)),
                _use_of_lab(lab, held),
                rules_of(session, lab_id=lab.id),
            )
            for lab in labs.labs(session)
        ]


def lab_model(view: LabView) -> dict[str, Any]:
    """Return a lab as REST shows it."""
    return {
        "slug": view.lab.slug,
        "title": view.lab.title,
        "archived": view.lab.archived_at is not None,
        "version": view.lab.version,
        **_limits_model(view.lab),
        "use": _use_model(view.use),
        "leads": [person.name for person in view.leads],
        "projects": [project_model(each) for each in view.projects],
    }


def project_model(view: ProjectView) -> dict[str, Any]:
    """Return a project as REST shows it to its leads."""
    return {
        "slug": view.project.slug,
        "title": view.project.title,
        "version": view.project.version,
        "archived": view.project.archived_at is not None,
        **_limits_model(view.project),
        "egress": view.project.egress,
        "use": _use_model(view.use),
        "members": [{"name": member.person.name, "lead": member.lead} for member in view.members],
    }


def _project(
    session: Session, standing: Standing, project: projects.Project, held: list[servers.HeldServer]
) -> ProjectView:
    inside = [server for server in held if server.project_id == project.id]
    return ProjectView(
        project=project,
        members=tuple(projects.members(session, project.id)),
        may_archive=may(standing, Action.ARCHIVE_PROJECT, project.subject),
        use=use_of(inside, Ceiling(project.max_memory_bytes, project.max_cpus)),
        may_divide=may(standing, Action.DIVIDE_GPUS, project.subject),
        rules=rules_of(session, project_id=project.id),
    )


def _use_of_lab(lab: labs.Lab, held: list[servers.HeldServer]) -> Use:
    inside = [server for server in held if server.lab_id == lab.id]
    return use_of(inside, Ceiling(lab.max_memory_bytes, lab.max_cpus))


def _limits_model(limited: projects.Project | labs.Lab) -> dict[str, Any]:
    return {"max_memory_bytes": limited.max_memory_bytes, "max_cpus": limited.max_cpus, **asdict(limited.share)}


def _use_model(use: Use) -> dict[str, Any]:
    return {"servers": use.servers, "memory_bytes": use.memory_bytes, "cpus": use.cpus}


def _visible(session: Session, standing: Standing) -> list[labs.Lab]:
    return [lab for lab in labs.labs(session) if may(standing, Action.SEE_LAB, Subject(lab_id=lab.id))]


def _leads(standing: Standing, project: projects.Project) -> bool:
    return may(standing, Action.MANAGE_MEMBERS, project.subject)
