"""The labs and projects that an actor may act on: what is not theirs to see looks like what is not there."""

from sqlalchemy.orm import Session

from bancada_hub.errors import Forbidden, NotFound, StaleVersion, told
from bancada_hub.naming import SLUG, shown
from bancada_hub.roles import Action, Actor, Subject
from bancada_hub.store import labs, projects, trace
from bancada_hub.store.standing import allowed, require

LAB_CHANGES = ("lab.change", "lab.archive", "lab.reopen", "lab.limits", "lab.gpus")
PROJECT_CHANGES = ("project.change", "project.archive", "project.reopen", "project.limits", "project.gpus")
"""What makes a version of a lab or a project one higher, as the audit names it."""


def lab_for(session: Session, actor: Actor, slug: str, action: Action) -> labs.Lab:
    """Return a lab on which an actor may do this.

    Raises:
        NotFound: There is none, or the actor may not know of it.
        Forbidden: They may see it, and not do this.
    """
    lab = labs.find_lab(session, slug) if SLUG.fullmatch(slug) else None
    if lab is None or not allowed(session, actor, Action.SEE_LAB, Subject(lab_id=lab.id)):
        msg = told("There is no lab “%(slug)s”.", slug=shown(slug))
        raise NotFound(msg, fix=told("See which there are: ./bancada lab list"))
    require(session, actor, action, Subject(lab_id=lab.id))
    return lab


def project_for(session: Session, actor: Actor, slug: str, action: Action) -> projects.Project:
    """Return a project on which an actor may do this.

    Raises:
        NotFound: There is none, or the actor may not know of it: nobody learns which.
        Forbidden: They may see it, and not do this.
    """
    project = projects.find_project(session, slug) if slug.isprintable() else None
    if project is None or not allowed(session, actor, Action.SEE_PROJECT, project.subject):
        msg = told("There is no project “%(slug)s”.", slug=shown(slug))
        raise NotFound(msg, fix=told("See which there are: ./bancada project list"))
    if project.personal and action is not Action.SEE_PROJECT:
        msg = told("A personal project is its owner's alone, and stays as it is.")
        raise Forbidden(msg, fix=told("Work together in a shared project."))
    require(session, actor, action, project.subject)
    return project


def stale_lab(session: Session, lab: labs.Lab) -> StaleVersion:
    """Return the refusal of a change of a lab by somebody who has not read the last one."""
    last = trace.last_change(session, LAB_CHANGES, f"lab:{lab.slug}")
    msg = told(
        "%(who)s changed this lab at %(time)s UTC on %(date)s, after this page was opened.",
        who=last.actor if last else "?",
        time=f"{last.at:%H:%M:%S}" if last else "?",
        date=f"{last.at:%Y-%m-%d}" if last else "?",
    )
    return StaleVersion(msg, fix=told("Nothing was saved. Reload the page, then change it again."))


def stale_project(session: Session, project: projects.Project) -> StaleVersion:
    """Return the refusal of a change by somebody who has not read the last one: who made it, and when."""
    last = trace.last_change(session, PROJECT_CHANGES, f"project:{project.slug}")
    when = f"{last.at:%H:%M:%S %Y-%m-%d}" if last else "? ?"
    time, date = when.split()
    msg = told(
        "%(who)s changed this project at %(time)s UTC on %(date)s, after this page was opened; it is now called "
        "“%(title)s”.",
        who=last.actor if last else "?",
        time=time,
        date=date,
        title=project.title,
    )
    return StaleVersion(msg, fix=told("Nothing was saved. Reload the page, then change it again."))
