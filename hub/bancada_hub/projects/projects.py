"""Projects: making, changing and closing them, and who is in them.

Every change asks the database, in its own transaction, whether the actor may, and leaves its row in the audit.
"""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from bancada_hub.errors import PeopleError, told
from bancada_hub.naming import check_slug, checked_title, shown
from bancada_hub.projects import telling
from bancada_hub.projects.labs import person_to_add
from bancada_hub.roles import Action, Actor
from bancada_hub.site import Site
from bancada_hub.store import labs, people, projects, trace
from bancada_hub.store.database import Store
from bancada_hub.store.finding import lab_for, project_for, stale_project
from bancada_hub.store.standing import standing_of_actor

CHANGE, ARCHIVE, REOPEN, LIMITS = "project.change", "project.archive", "project.reopen", "project.limits"


@dataclass(frozen=True)
class NewProject:
    """A project that is to be made.

    Args:
        slug: Its short name, for ever.
        title: What pages call it.
        lab_slug: Its lab.
    """

    slug: str
    title: str
    lab_slug: str


def create_project(store: Store, site: Site, actor: Actor, new: NewProject) -> projects.Project:
    """Make a project; a lead of its lab who makes one is in it from the start, as its lead.

    Raises:
        NotFound: There is no such lab, or the actor may not know of it.
        Forbidden: The actor does not lead the lab.
        PeopleError: The short name or title is taken or not possible, or the lab is archived.
    """
    with trace.change(store, actor, "project.create", f"project:{new.slug}") as made:
        session = made.session
        check_slug(new.slug)
        title = checked_title(new.title)
        lab = lab_for(session, actor, new.lab_slug, Action.CREATE_PROJECT)
        if lab.archived_at:
            msg = told("The lab “%(slug)s” is archived.", slug=lab.slug)
            raise PeopleError(msg, fix=told("Open it again: ./bancada lab archive %(slug)s --undo", slug=lab.slug))
        if projects.find_project(session, new.slug):
            msg = told("There is a project “%(slug)s” already.", slug=new.slug)
            raise PeopleError(msg, fix=told("Choose another short name; one is never given twice."))
        project = projects.add_project(session, new.slug, title, first_gid=site.people.gid_min, lab_id=lab.id)
        made.detail |= {"title": title, "lab": lab.slug, "gid": project.gid}
        if actor.person_id is not None and lab.id in standing_of_actor(session, actor).lab_leads:
            _grant(session, project, people.get_person(session, actor.person_id), lead=True)
            made.detail["lead"] = actor.name
        return project


def change_project(store: Store, actor: Actor, slug: str, version: int, title: str) -> projects.Project:
    """Change a project's title.

    Args:
        store: The database.
        actor: Who asks.
        slug: Which project.
        version: The version that the actor has read.
        title: The new title.

    Raises:
        NotFound: There is no such project, or the actor may not know of it.
        Forbidden: The actor does not lead it.
        StaleVersion: Somebody changed it after that version.
        PeopleError: The title is not possible.
    """
    with trace.change(store, actor, CHANGE, f"project:{slug}") as made:
        project = project_for(made.session, actor, slug, Action.CHANGE_PROJECT)
        checked = checked_title(title)
        if project.version != version:
            raise stale_project(made.session, project)
        made.detail |= {"from": project.title, "to": checked, "version": version + 1}
        return projects.set_title(made.session, project.id, checked)


def archive_project(store: Store, actor: Actor, slug: str, *, archived: bool = True) -> projects.Project:
    """Close a project, or open it again: nothing new starts in an archived one, and nothing of it is deleted.

    Raises:
        NotFound: There is no such project, or the actor may not know of it.
        Forbidden: The actor does not lead its lab.
        PeopleError: It is in that state already, or its lab is archived.
    """
    with trace.change(store, actor, ARCHIVE if archived else REOPEN, f"project:{slug}") as made:
        project = project_for(made.session, actor, slug, Action.ARCHIVE_PROJECT)
        if bool(project.archived_at) is archived:
            msg = told("The project “%(slug)s” is in use already.", slug=slug)
            if archived:
                msg = told("The project “%(slug)s” is archived already.", slug=slug)
            raise PeopleError(msg)
        if not archived and project.lab_id is not None and labs.get_lab(made.session, project.lab_id).archived_at:
            msg = told("The lab of the project “%(slug)s” is archived.", slug=slug)
            raise PeopleError(msg, fix=told("Open the lab again first."))
        telling.archived(made.session, actor, project, archived=archived)
        return projects.set_archived(made.session, project.id, archived=archived)


def add_member(store: Store, actor: Actor, slug: str, name: str, *, lead: bool = False) -> projects.Member:
    """Add a person to a project; one who is in it stays, and leads it if asked.

    Raises:
        NotFound: There is no such project, or the actor may not know of it.
        Forbidden: The actor does not lead it.
        PeopleError: There is no such account, it is disabled, or the project is archived.
    """
    with trace.change(store, actor, "project.add-member", f"project:{slug}") as made:
        project = project_for(made.session, actor, slug, Action.MANAGE_MEMBERS)
        person = person_to_add(made.session, name)
        if project.archived_at:
            msg = told("The project “%(slug)s” is archived.", slug=slug)
            raise PeopleError(msg, fix=told("Open it again: ./bancada project archive %(slug)s --undo", slug=slug))
        member = projects.find_member(made.session, project.id, person.id)
        made.detail |= {"person": name, "lead": lead or bool(member and member.lead), "new": member is None}
        if member is None or (lead and not member.lead):
            _grant(made.session, project, person, lead=lead)
            telling.joined(made.session, actor, project, _member(made.session, project, person), new=member is None)
        return _member(made.session, project, person)


def remove_member(store: Store, actor: Actor, slug: str, name: str) -> people.Person:
    """Take a person out of a project; everybody may leave one by themselves.

    From now on the person starts nothing there and sees nothing of it. What they have running there is the hub's to
    stop: `store.projects.outsiders` names it.

    Raises:
        NotFound: There is no such project, or the actor may not know of it.
        Forbidden: The actor does not lead it, and it is not them who leaves.
        PeopleError: The person is not in it, or is its last lead.
    """
    with trace.change(store, actor, "project.remove-member", f"project:{slug}") as made:
        own = actor.person_id is not None and actor.name == name
        project = project_for(made.session, actor, slug, Action.SEE_PROJECT if own else Action.MANAGE_MEMBERS)
        person = _other_than_last_lead(made.session, project, name).person
        projects.drop_member(made.session, project.id, person.id)
        made.detail["person"] = name
        telling.gone(made.session, actor, project, person)
        trace.ledger(made.session, trace.NewLedgerEntry("membership.ended", project.id, person.id))
        return person


def set_lead(store: Store, actor: Actor, slug: str, name: str, *, lead: bool) -> projects.Member:
    """Give a member the lead of a project, or take it.

    Raises:
        NotFound: There is no such project, or the actor may not know of it.
        Forbidden: The actor does not lead it.
        PeopleError: The person is not in it, or is its last lead.
    """
    with trace.change(store, actor, "project.set-lead", f"project:{slug}") as made:
        project = project_for(made.session, actor, slug, Action.MANAGE_MEMBERS)
        member = _in(made.session, project, name) if lead else _other_than_last_lead(made.session, project, name)
        made.detail |= {"person": name, "lead": lead}
        if member.lead != lead:
            projects.set_member_lead(made.session, project.id, member.person.id, lead=lead)
            kind = "lead.granted" if lead else "lead.ended"
            trace.ledger(made.session, trace.NewLedgerEntry(kind, project.id, member.person.id))
            telling.leads(made.session, actor, project, member.person, lead=lead)
        return _member(made.session, project, member.person)


def _grant(session: Session, project: projects.Project, person: people.Person, *, lead: bool) -> None:
    projects.add_member(session, project.id, person.id, lead=lead)
    if lead:
        projects.set_member_lead(session, project.id, person.id, lead=True)
    trace.ledger(session, trace.NewLedgerEntry("membership.granted", project.id, person.id, {"lead": lead}))


def _in(session: Session, project: projects.Project, name: str) -> projects.Member:
    person = people.find_person(session, name) if name.isprintable() else None
    member = projects.find_member(session, project.id, person.id) if person else None
    if member is None:
        msg = told("%(name)s is not in the project “%(slug)s”.", name=shown(name), slug=project.slug)
        raise PeopleError(msg, fix=told("See who is: ./bancada project show %(slug)s", slug=project.slug))
    return member


def _other_than_last_lead(session: Session, project: projects.Project, name: str) -> projects.Member:
    if project.personal:
        msg = told("Nobody leaves their personal project.")
        raise PeopleError(msg)
    member = _in(session, project, name)
    others = [
        each
        for each in projects.members(session, project.id)
        if each.lead and not each.person.disabled and each.person.id != member.person.id
    ]
    if member.lead and not others:
        msg = told(
            "%(name)s is the only lead of the project “%(slug)s”, and a project needs one.",
            name=name,
            slug=project.slug,
        )
        raise PeopleError(msg, fix=told("Make somebody else a lead first, or archive the project."))
    return member


def _member(session: Session, project: projects.Project, person: people.Person) -> projects.Member:
    member = projects.find_member(session, project.id, person.id)
    if member is None:
        msg = told("%(name)s is not in the project “%(slug)s”.", name=person.name, slug=project.slug)
        raise PeopleError(msg)
    return member
