"""Who may do what: pure decisions over a person's standing, as the database has it at one instant.

Researchers work in the projects they are in. A lead runs one project, or a lab with all its projects. Admins run the
site, which does not make them members: nobody works in a project without being in it, and a personal project is its
owner's alone.
"""

import getpass
import os
from dataclasses import dataclass
from enum import StrEnum

COMMAND_LINE = "command line"


@dataclass(frozen=True)
class Actor:
    """Who asks for a change, and from where; goes into the audit.

    Args:
        person_id: The person's number; None for the command line, which is the machine's administrator.
        name: Account name; on the command line that of the machine's account.
        admin: Whether they run the site, as far as pages need to know; changes ask the database again.
        origin: Where from: a network address, or `command line`.
    """

    person_id: int | None
    name: str
    admin: bool
    origin: str

    @classmethod
    def command_line(cls) -> "Actor":
        """Return the one who types `bancada …` on the machine: its administrator."""
        return cls(None, os.environ.get("SUDO_USER") or getpass.getuser(), admin=True, origin=COMMAND_LINE)


class Role(StrEnum):
    """What pages call a person."""

    RESEARCHER = "researcher"
    LEAD = "lead"
    ADMIN = "admin"


class Action(StrEnum):
    """What can be asked for."""

    SEE_SITE = "see-site"
    MANAGE_GPUS = "manage-gpus"
    MANAGE_PEOPLE = "manage-people"
    CREATE_LAB = "create-lab"
    ARCHIVE_LAB = "archive-lab"
    SET_LAB_LEADS = "set-lab-leads"
    SET_LAB_LIMITS = "set-lab-limits"
    SEE_LAB = "see-lab"
    CHANGE_LAB = "change-lab"
    DIVIDE_GPUS = "divide-gpus"
    CREATE_PROJECT = "create-project"
    ARCHIVE_PROJECT = "archive-project"
    SEE_PROJECT = "see-project"
    WORK_IN_PROJECT = "work-in-project"
    CHANGE_PROJECT = "change-project"
    MANAGE_MEMBERS = "manage-members"


BY_LAB_LEADS = frozenset({Action.CHANGE_LAB, Action.DIVIDE_GPUS, Action.CREATE_PROJECT, Action.ARCHIVE_PROJECT})
BY_PROJECT_LEADS = frozenset({Action.CHANGE_PROJECT, Action.MANAGE_MEMBERS})
BY_MEMBERS = frozenset({Action.SEE_PROJECT, Action.WORK_IN_PROJECT})


@dataclass(frozen=True)
class Standing:
    """What a person is, by number.

    Args:
        admin: Whether they run the site.
        lab_leads: The labs they lead.
        project_leads: The projects they lead.
        projects: The projects they are in.
        labs: The labs of the projects they lead: they see those labs' pages, with their own projects.
    """

    admin: bool = False
    lab_leads: frozenset[int] = frozenset()
    project_leads: frozenset[int] = frozenset()
    projects: frozenset[int] = frozenset()
    labs: frozenset[int] = frozenset()

    @property
    def role(self) -> Role:
        """The highest of a person's roles."""
        if self.admin:
            return Role.ADMIN
        return Role.LEAD if self.labs or self.lab_leads else Role.RESEARCHER


@dataclass(frozen=True)
class Subject:
    """What an action is about.

    Args:
        lab_id: The lab, or the project's lab.
        project_id: The project.
        personal: Whether it is somebody's personal project.
    """

    lab_id: int | None = None
    project_id: int | None = None
    personal: bool = False


SITE = Subject()


def may(standing: Standing, action: Action, subject: Subject = SITE) -> bool:
    """Return whether a person of this standing may do this.

    Args:
        standing: The person's.
        action: What they ask for.
        subject: On what; the site itself by default.
    """
    inside = subject.project_id in standing.projects
    if subject.personal:
        return inside and action in BY_MEMBERS
    if action is Action.WORK_IN_PROJECT:
        return inside
    if standing.admin:
        return True
    leads_lab = subject.lab_id in standing.lab_leads
    leads_project = subject.project_id in standing.project_leads
    allowed = {
        Action.SEE_LAB: leads_lab or subject.lab_id in standing.labs,
        Action.SEE_PROJECT: inside or leads_lab,
        **dict.fromkeys(BY_LAB_LEADS, leads_lab),
        **dict.fromkeys(BY_PROJECT_LEADS, leads_lab or leads_project),
    }
    return allowed.get(action, False)
