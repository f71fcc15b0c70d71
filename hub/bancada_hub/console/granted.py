"""What was granted in a lab's projects: which rows a reader may see, and each in words."""

from dataclasses import dataclass
from typing import Any

from bancada_hub.amounts import Bytes, Cores
from bancada_hub.console.errors import NotThereError
from bancada_hub.errors import Told, told
from bancada_hub.roles import Action, Standing, Subject, may
from bancada_hub.store import labs, projects
from bancada_hub.store.database import Store
from bancada_hub.store.granted import PAGE, Grant, Wanted, grants
from bancada_hub.store.projects import Project
from bancada_hub.ui.language import Words

_KINDS = {
    "membership.granted": told("In the project"),
    "membership.ended": told("No longer in the project"),
    "lead.granted": told("Leads the project"),
    "lead.ended": told("No longer leads the project"),
}
_REACH = {
    "open": told("The network outside"),
    "mirror": told("The package mirror alone"),
    "none": told("Nothing outside"),
}


@dataclass(frozen=True)
class Granted:
    """A page of what was granted in a lab.

    Args:
        lab: The lab.
        projects: Those that the reader leads, to choose from.
        chosen: The one whose rows are shown; None for all of them.
        rows: The newest first.
        more: The row before which the next page begins; None when this is the last.
    """

    lab: labs.Lab
    projects: tuple[Project, ...]
    chosen: Project | None
    rows: tuple[Grant, ...]
    more: int | None


def read_granted(store: Store, standing: Standing, lab_slug: str, project: str, before_id: int | None) -> Granted:
    """Return a page of what was granted in a lab, as far as a reader leads there.

    Args:
        store: The database.
        standing: The reader's.
        lab_slug: The lab.
        project: The slug of one of its projects; empty for all.
        before_id: Only rows before this one.

    Raises:
        NotThereError: There is no such lab, or no such project that the reader leads in it.
    """
    with store.read() as session:
        lab = labs.find_lab(session, lab_slug)
        if lab is None:
            raise NotThereError
        every = projects.all_projects(session, lab_id=lab.id)
        led = tuple(each for each in every if may(standing, Action.MANAGE_MEMBERS, each.subject))
        chosen = next((each for each in led if each.slug == project), None)
        if project and chosen is None:
            raise NotThereError
        whole = not project and may(standing, Action.CHANGE_LAB, Subject(lab_id=lab.id))
        shown = (chosen,) if chosen else led
        rows = grants(session, Wanted(tuple(each.id for each in shown), lab.slug if whole else "", before_id))
    return Granted(lab, led, chosen, tuple(rows), rows[-1].id if len(rows) == PAGE else None)


def read_grants(store: Store, project_id: int | None, before_id: int | None) -> list[Grant]:
    """Return a page of what was granted in one project."""
    with store.read() as session:
        return grants(session, Wanted((project_id,) if project_id else (), before_id=before_id))


def describe(grant: Grant, words: Words) -> str:
    """Return what was granted, in words; a kind that this release does not know is named as it is."""
    if grant.kind == "membership.granted" and grant.detail.get("lead"):
        return words.gettext("In the project, as a lead")
    if grant.kind == "limits.changed":
        return "; ".join(words.gettext(part) for part in _limits(grant.detail))
    return words.gettext(_KINDS[grant.kind]) if grant.kind in _KINDS else grant.kind


def grant_model(grant: Grant) -> dict[str, Any]:
    """Return a row as REST shows it."""
    return {
        "id": grant.id,
        "at": grant.at.isoformat(timespec="seconds"),
        "kind": grant.kind,
        "project": grant.project,
        "person": grant.person,
        "detail": grant.detail,
    }


def _limits(detail: dict[str, Any]) -> list[Told]:
    memory, cpus = detail.get("max_memory_bytes"), detail.get("max_cpus")
    said = [
        told("Memory: at most %(most)s", most=Bytes(memory)) if memory else told("Memory: no limit"),
        told("CPU cores: at most %(most)s", most=Cores(cpus)) if cpus else told("CPU cores: no limit"),
    ]
    reach = _REACH.get(detail.get("egress", ""))
    return [*said, told("servers may reach: %(what)s", what=reach)] if reach else said
