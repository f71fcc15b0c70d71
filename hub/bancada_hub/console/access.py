"""Who may call a route: an action of `bancada_hub.roles`, or one of the few answers that are about no action.

What a person is comes from our database at each request. The hub's scopes and groups are a mirror and decide nothing.
"""

from enum import StrEnum
from typing import TypeAlias

from bancada_hub.roles import SITE, Action, Role, Standing, Subject, may


class Who(StrEnum):
    """Who may call a route that is about no lab or project."""

    ANYBODY = "anybody"
    PERSON = "person"
    ANY_LEAD = "any-lead"


Allowed: TypeAlias = Who | Action

IN_WORDS: dict[Allowed, str] = {
    Who.ANYBODY: "anybody, also signed out",
    Who.PERSON: "everybody who is signed in",
    Who.ANY_LEAD: "leads, admins",
    Action.WORK_IN_PROJECT: "members of the project",
    Action.SEE_PROJECT: "members of the project, its lab's leads, admins",
    Action.CHANGE_PROJECT: "leads of the project or its lab, admins",
    Action.MANAGE_MEMBERS: "leads of the project or its lab, admins",
    Action.ARCHIVE_PROJECT: "leads of the project's lab, admins",
    Action.CREATE_PROJECT: "leads of the lab, admins",
    Action.DIVIDE_GPUS: "leads of the project's lab, admins",
    Action.CHANGE_LAB: "leads of the lab, admins",
    Action.SEE_LAB: "leads of the lab or of a project in it, admins",
    Action.ARCHIVE_LAB: "admins",
    Action.CREATE_LAB: "admins",
    Action.SET_LAB_LEADS: "admins",
    Action.SET_LAB_LIMITS: "admins",
    Action.MANAGE_PEOPLE: "admins",
    Action.SEE_SITE: "admins",
    Action.MANAGE_GPUS: "admins",
}


def leads_something(standing: Standing) -> bool:
    """Return whether a person leads a lab or a shared project, or runs the site: they see the tab Lab."""
    return standing.role is not Role.RESEARCHER


def may_call(allowed: Allowed, standing: Standing, subject: Subject = SITE) -> bool:
    """Return whether a person may call a route on what its address names.

    Args:
        allowed: What the route declares.
        standing: What the person is, from the database.
        subject: What the address names; without numbers when there is no such thing.
    """
    if isinstance(allowed, Action):
        return may(standing, allowed, subject)
    return allowed is not Who.ANY_LEAD or leads_something(standing)
