"""Limits that people set: what a lab's and a project's servers may hold together, and where a project's may reach.

A project's limit is never above its lab's. The limits of a lab's projects need not add up to less: the lab's own
holds for the sum of what really runs. Nothing that runs is touched; limits and reach take effect at the next start.
"""

import math
from typing import TypeVar

from bancada_hub.amounts import Bytes, Cores
from bancada_hub.errors import PeopleError, told
from bancada_hub.projects import telling
from bancada_hub.projects.projects import LIMITS
from bancada_hub.roles import Action, Actor
from bancada_hub.site import GIB
from bancada_hub.store import labs, projects, trace
from bancada_hub.store.database import Store
from bancada_hub.store.finding import lab_for, project_for, stale_lab, stale_project

LEAST_MEMORY_GIB, MOST_MEMORY_GIB = 0.25, 1_048_576.0
LEAST_CPUS, MOST_CPUS = 0.1, 65_536.0

LAB_LIMITS = "lab.limits"

Amount = TypeVar("Amount", int, float)


def memory_limit(gib: float | None) -> int | None:
    """Return a limit of memory in bytes, from what a person set in GiB; None is no limit.

    Raises:
        PeopleError: It is not an amount that can be.
    """
    if gib is None:
        return None
    if not math.isfinite(gib) or not LEAST_MEMORY_GIB <= gib <= MOST_MEMORY_GIB:
        msg = told("A limit of %(given)s GiB of memory is not possible.", given=f"{gib:g}")
        raise PeopleError(
            msg, fix=told("Use a number from %(least)s up, or none for no limit.", least=Cores(LEAST_MEMORY_GIB))
        )
    return int(gib * GIB)


def cpu_limit(cpus: float | None) -> float | None:
    """Return a limit of CPU in cores, from what a person set; None is no limit.

    Raises:
        PeopleError: It is not an amount that can be.
    """
    if cpus is None:
        return None
    if not math.isfinite(cpus) or not LEAST_CPUS <= cpus <= MOST_CPUS:
        msg = told("A limit of %(given)s cores is not possible.", given=f"{cpus:g}")
        raise PeopleError(
            msg, fix=told("Use a number from %(least)s up, or none for no limit.", least=Cores(LEAST_CPUS))
        )
    return cpus


def change_project_limits(
    store: Store, actor: Actor, slug: str, version: int, limits: projects.ProjectLimits
) -> projects.Project:
    """Change what a project's servers may hold together, and where they may reach.

    Args:
        store: The database.
        actor: Who asks.
        slug: Which project.
        version: The version that the actor has read.
        limits: All of the new limits.

    Raises:
        NotFound: There is no such project, or the actor may not know of it.
        Forbidden: The actor does not lead it.
        StaleVersion: Somebody changed it after that version.
        PeopleError: A limit is above the lab's.
    """
    with trace.change(store, actor, LIMITS, f"project:{slug}") as made:
        project = project_for(made.session, actor, slug, Action.CHANGE_PROJECT)
        if project.version != version:
            raise stale_project(made.session, project)
        if project.lab_id is not None:
            _check_under(labs.get_lab(made.session, project.lab_id), limits)
        detail = _detail(project.limits, limits) | {"egress": limits.egress, "egress_before": project.egress}
        made.detail |= {**detail, "version": version + 1}
        trace.ledger(made.session, trace.NewLedgerEntry("limits.changed", project.id, actor.person_id, detail))
        if limits.egress != project.egress:
            telling.reaches(made.session, actor, project, limits.egress)
        return projects.set_limits(made.session, project.id, limits)


def change_lab_limits(store: Store, actor: Actor, slug: str, version: int, limits: labs.LabLimits) -> labs.Lab:
    """Change what the servers of a lab's projects may hold together.

    Args:
        store: The database.
        actor: Who asks.
        slug: Which lab.
        version: The version that the actor has read.
        limits: All of the new limits.

    Raises:
        NotFound: There is no such lab, or the actor may not know of it.
        Forbidden: The actor is no administrator.
        StaleVersion: Somebody changed it after that version.
        PeopleError: A project of the lab has a limit above.
    """
    with trace.change(store, actor, LAB_LIMITS, f"lab:{slug}") as made:
        lab = lab_for(made.session, actor, slug, Action.SET_LAB_LIMITS)
        if lab.version != version:
            raise stale_lab(made.session, lab)
        for project in projects.all_projects(made.session, lab_id=lab.id):
            _check_above(project, limits)
        detail = _detail(lab.limits, limits)
        made.detail |= {**detail, "version": version + 1}
        entry = trace.NewLedgerEntry("limits.changed", None, actor.person_id, {"lab": slug, **detail})
        trace.ledger(made.session, entry)
        return labs.set_lab_limits(made.session, lab.id, limits)


def _check_under(lab: labs.Lab, limits: projects.ProjectLimits) -> None:
    fix = told("Choose less, or ask an administrator to raise the lab's limit.")
    if _above(limits.max_memory_bytes, lab.max_memory_bytes):
        most = Bytes(lab.max_memory_bytes or 0)
        raise PeopleError(told("The lab's projects may hold %(most)s of memory together.", most=most), fix=fix)
    if _above(limits.max_cpus, lab.max_cpus):
        most_cpus = Cores(lab.max_cpus or 0)
        raise PeopleError(told("The lab's projects may hold %(most)s cores together.", most=most_cpus), fix=fix)


def _check_above(project: projects.Project, limits: labs.LabLimits) -> None:
    fix = told("Lower the project's limit first.")
    if _above(project.max_memory_bytes, limits.max_memory_bytes):
        held = Bytes(project.max_memory_bytes or 0)
        msg = told("The project “%(slug)s” may hold %(held)s of memory, which is more.", slug=project.slug, held=held)
        raise PeopleError(msg, fix=fix)
    if _above(project.max_cpus, limits.max_cpus):
        cpus = Cores(project.max_cpus or 0)
        msg = told("The project “%(slug)s” may hold %(held)s cores, which is more.", slug=project.slug, held=cpus)
        raise PeopleError(msg, fix=fix)


def _above(one: Amount | None, most: Amount | None) -> bool:
    return one is not None and most is not None and one > most


def _detail(
    before: projects.ProjectLimits | labs.LabLimits, after: projects.ProjectLimits | labs.LabLimits
) -> dict[str, object]:
    return {
        "max_memory_bytes": after.max_memory_bytes,
        "max_memory_bytes_before": before.max_memory_bytes,
        "max_cpus": after.max_cpus,
        "max_cpus_before": before.max_cpus,
    }
