"""What somebody's standing is at this instant, and the one check that every change makes in its own transaction."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from bancada_hub.errors import Forbidden, told
from bancada_hub.roles import BY_LAB_LEADS, BY_PROJECT_LEADS, SITE, Action, Actor, Standing, Subject, may
from bancada_hub.store.models import LabLeadRow, MemberRow, PersonRow, ProjectRow

_OF_THE_LAB = told("Only the lab's leads and administrators may do this.")
_OF_THE_PROJECT = told("Only the project's leads and administrators may do this.")
_ONLY = dict.fromkeys(BY_LAB_LEADS, _OF_THE_LAB) | dict.fromkeys(BY_PROJECT_LEADS, _OF_THE_PROJECT)


def standing_of(session: Session, person_id: int) -> Standing:
    """Return a person's standing; a disabled person has none."""
    person = session.get(PersonRow, person_id)
    if person is None or person.disabled:
        return Standing()
    rows = session.execute(
        select(MemberRow.project_id, MemberRow.lead, ProjectRow.lab_id)
        .join(ProjectRow, ProjectRow.id == MemberRow.project_id)
        .where(MemberRow.person_id == person_id)
    ).all()
    lab_leads = session.scalars(select(LabLeadRow.lab_id).where(LabLeadRow.person_id == person_id))
    return Standing(
        admin=person.admin,
        lab_leads=frozenset(lab_leads),
        project_leads=frozenset(project_id for project_id, lead, _ in rows if lead),
        projects=frozenset(project_id for project_id, _, _ in rows),
        labs=frozenset(lab_id for _, lead, lab_id in rows if lead and lab_id is not None),
    )


def standing_of_actor(session: Session, actor: Actor) -> Standing:
    """Return an actor's standing as the database has it; the command line is the machine's administrator."""
    return Standing(admin=True) if actor.person_id is None else standing_of(session, actor.person_id)


def allowed(session: Session, actor: Actor, action: Action, subject: Subject = SITE) -> bool:
    """Return whether an actor may do this now."""
    return may(standing_of_actor(session, actor), action, subject)


def require(session: Session, actor: Actor, action: Action, subject: Subject = SITE) -> None:
    """Refuse what an actor may not do.

    Raises:
        Forbidden: They may not; the message says who may.
    """
    if not allowed(session, actor, action, subject):
        only = _ONLY.get(action, told("Only administrators may do this."))
        raise Forbidden(only, fix=told("Ask one of them."))
