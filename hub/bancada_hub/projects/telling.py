"""What people are told of changes to their labs and projects, in the transaction of the change.

Whoever made the change is not told of it. Titles are as they were at that moment.
"""

from sqlalchemy.orm import Session

from bancada_hub.errors import Told, told
from bancada_hub.roles import Actor
from bancada_hub.store import labs, notices, people, projects

WORK, LAB = "/services/bancada/", "/services/bancada/lab/"
TO_WORK, TO_LAB = told("Go to Work"), told("Go to Lab")


def joined(session: Session, actor: Actor, project: projects.Project, member: projects.Member, *, new: bool) -> None:
    """Tell a person that they are in a project, or lead it."""
    if not new:
        leads(session, actor, project, member.person, lead=True)
        return
    text = told("You are in the project “%(project)s” now.", project=project.title)
    if member.lead:
        text = told("You are in the project “%(project)s” now, as a lead.", project=project.title)
    notices.tell(session, actor, [member.person.id], _with_way(text, TO_WORK, WORK))


def gone(session: Session, actor: Actor, project: projects.Project, person: people.Person) -> None:
    """Tell a person that they are no longer in a project; of one who left by themselves, tell its leads."""
    if person.id == actor.person_id:
        text = told("%(person)s left the project “%(project)s”.", person=person.shown_name, project=project.title)
        notices.tell(session, actor, _leads_of(session, project), notices.NewNotice(text))
        return
    text = told(
        "You are no longer in the project “%(project)s”. Your files stay there; what you had running there is stopped.",
        project=project.title,
    )
    notices.tell(session, actor, [person.id], notices.NewNotice(text, notices.WARNING))


def leads(session: Session, actor: Actor, project: projects.Project, person: people.Person, *, lead: bool) -> None:
    """Tell a member that they lead the project, or no longer."""
    new = notices.NewNotice(told("You no longer lead the project “%(project)s”.", project=project.title))
    if lead and project.lab_id is not None:
        way = LAB + labs.get_lab(session, project.lab_id).slug
        new = _with_way(told("You lead the project “%(project)s” now.", project=project.title), TO_LAB, way)
    notices.tell(session, actor, [person.id], new)


def archived(session: Session, actor: Actor, project: projects.Project, *, archived: bool) -> None:
    """Tell the members that nothing new starts in their project, or that it is open again."""
    new = _with_way(told("The project “%(project)s” is open again.", project=project.title), TO_WORK, WORK)
    if archived:
        text = told(
            "The project “%(project)s” is archived: nothing new starts in it, and nothing of it is deleted. What runs "
            "goes on until it is stopped.",
            project=project.title,
        )
        new = notices.NewNotice(text, notices.WARNING)
    notices.tell(session, actor, [member.person.id for member in projects.members(session, project.id)], new)


_REACHES: dict[str, Told] = {
    "open": told("From its next start on, what you run in “%(project)s” reaches the network outside."),
    "mirror": told("From its next start on, what you run in “%(project)s” reaches the package mirror alone."),
    "none": told("From its next start on, what you run in “%(project)s” reaches nothing outside."),
}


def reaches(session: Session, actor: Actor, project: projects.Project, egress: projects.Egress) -> None:
    """Tell the members that their servers will reach more, or less."""
    text = told(_REACHES[egress].template, project=project.title)
    to = [member.person.id for member in projects.members(session, project.id)]
    notices.tell(session, actor, to, notices.NewNotice(text))


def leads_lab(session: Session, actor: Actor, lab: labs.Lab, person: people.Person, *, lead: bool) -> None:
    """Tell a person that they lead a lab, or no longer."""
    new = notices.NewNotice(told("You no longer lead the lab “%(lab)s”.", lab=lab.title))
    if lead:
        text = told("You lead the lab “%(lab)s” now, and all its projects.", lab=lab.title)
        new = _with_way(text, TO_LAB, LAB + lab.slug)
    notices.tell(session, actor, [person.id], new)


def lab_archived(session: Session, actor: Actor, lab: labs.Lab, *, archived: bool) -> None:
    """Tell the leads of a lab that it is archived, or open again."""
    text = told("The lab “%(lab)s” is open again.", lab=lab.title)
    if archived:
        text = told("The lab “%(lab)s” is archived: no project is made in it.", lab=lab.title)
    to = [person.id for person in labs.lab_leads(session, lab.id)]
    notices.tell(session, actor, to, _with_way(text, TO_LAB, LAB + lab.slug))


def _leads_of(session: Session, project: projects.Project) -> list[int]:
    return [member.person.id for member in projects.members(session, project.id) if member.lead]


def _with_way(text: Told, label: Told, url: str) -> notices.NewNotice:
    return notices.NewNotice(text, action_label=label, action_url=url)
