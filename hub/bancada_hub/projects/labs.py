"""Labs: making, changing and closing them, and who leads them."""

from sqlalchemy.orm import Session

from bancada_hub.errors import PeopleError, told
from bancada_hub.naming import check_slug, checked_title, shown
from bancada_hub.projects import telling
from bancada_hub.roles import Action, Actor
from bancada_hub.store import labs, people, projects, trace
from bancada_hub.store.database import Store
from bancada_hub.store.finding import lab_for
from bancada_hub.store.standing import require

FIRST_SLUG, FIRST_TITLE = "lab", "Lab"


def create_lab(store: Store, actor: Actor, slug: str, title: str) -> labs.Lab:
    """Make a lab without leads.

    Raises:
        Forbidden: The actor is no administrator.
        PeopleError: The short name or the title is taken or not possible.
    """
    with trace.change(store, actor, "lab.create", f"lab:{slug}") as made:
        require(made.session, actor, Action.CREATE_LAB)
        check_slug(slug)
        checked = checked_title(title)
        if labs.find_lab(made.session, slug):
            msg = told("There is a lab “%(slug)s” already.", slug=slug)
            raise PeopleError(msg, fix=told("Choose another short name; one is never given twice."))
        made.detail["title"] = checked
        return labs.add_lab(made.session, slug, checked)


def change_lab(store: Store, actor: Actor, slug: str, title: str) -> labs.Lab:
    """Change a lab's title.

    Raises:
        NotFound: There is no such lab, or the actor may not know of it.
        Forbidden: The actor does not lead it.
        PeopleError: The title is not possible.
    """
    with trace.change(store, actor, "lab.change", f"lab:{slug}") as made:
        lab = lab_for(made.session, actor, slug, Action.CHANGE_LAB)
        checked = checked_title(title)
        made.detail |= {"from": lab.title, "to": checked}
        return labs.set_lab_title(made.session, lab.id, checked)


def archive_lab(store: Store, actor: Actor, slug: str, *, archived: bool = True) -> labs.Lab:
    """Close a lab whose projects are all archived, or open it again: nothing of it is deleted.

    Raises:
        NotFound: There is no such lab, or the actor may not know of it.
        Forbidden: The actor is no administrator.
        PeopleError: It has projects in use.
    """
    with trace.change(store, actor, "lab.archive" if archived else "lab.reopen", f"lab:{slug}") as made:
        lab = lab_for(made.session, actor, slug, Action.ARCHIVE_LAB)
        used = [each.slug for each in projects.all_projects(made.session, lab_id=lab.id) if not each.archived_at]
        if archived and used:
            msg = told("The lab “%(slug)s” has projects in use: %(projects)s.", slug=slug, projects=", ".join(used))
            raise PeopleError(msg, fix=told("Archive them first: ./bancada project archive %(slug)s", slug=used[0]))
        telling.lab_archived(made.session, actor, lab, archived=archived)
        return labs.set_lab_archived(made.session, lab.id, archived=archived)


def add_lab_lead(store: Store, actor: Actor, slug: str, name: str) -> people.Person:
    """Make a person a lead of a lab and so of all its projects; nothing changes for one who is.

    Raises:
        NotFound: There is no such lab, or the actor may not know of it.
        Forbidden: The actor is no administrator.
        PeopleError: There is no such account, or it is disabled.
    """
    with trace.change(store, actor, "lab.add-lead", f"lab:{slug}") as made:
        lab = lab_for(made.session, actor, slug, Action.SET_LAB_LEADS)
        person = person_to_add(made.session, name)
        new = labs.put_lab_lead(made.session, lab.id, person.id)
        made.detail |= {"person": name, "new": new}
        if new:
            telling.leads_lab(made.session, actor, lab, person, lead=True)
        return person


def remove_lab_lead(store: Store, actor: Actor, slug: str, name: str) -> people.Person:
    """Take the lead of a lab from a person; a lab without leads is led by the administrators.

    Raises:
        NotFound: There is no such lab, or the actor may not know of it.
        Forbidden: The actor is no administrator.
        PeopleError: The person does not lead it.
    """
    with trace.change(store, actor, "lab.remove-lead", f"lab:{slug}") as made:
        lab = lab_for(made.session, actor, slug, Action.SET_LAB_LEADS)
        person = people.find_person(made.session, name)
        if person is None or not labs.drop_lab_lead(made.session, lab.id, person.id):
            msg = told("%(name)s does not lead the lab “%(slug)s”.", name=shown(name), slug=slug)
            raise PeopleError(msg, fix=told("See who does: ./bancada lab show %(slug)s", slug=slug))
        made.detail["person"] = name
        telling.leads_lab(made.session, actor, lab, person, lead=False)
        return person


def person_to_add(session: Session, name: str) -> people.Person:
    """Return the person who is to be added somewhere.

    Raises:
        PeopleError: There is no such account, or it is disabled.
    """
    # As it is typed: neither “Ana” nor “ana ” is taken for “ana”.
    person = people.find_person(session, name) if name.isprintable() else None
    if person is None:
        msg = told("There is no account “%(name)s”.", name=shown(name))
        raise PeopleError(msg, fix=told("Ask an administrator to add it; names are in small letters."))
    if person.disabled:
        msg = told("The account %(name)s is switched off.", name=name)
        raise PeopleError(msg, fix=told("Ask an administrator to switch it on."))
    return person
