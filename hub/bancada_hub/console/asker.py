"""Who asks, what they are, and what the address they ask for names: from the database, in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from bancada_hub.console.errors import NoAccountError
from bancada_hub.roles import SITE, Standing, Subject
from bancada_hub.store import labs, people, projects
from bancada_hub.store.database import Store
from bancada_hub.store.notices import Notice, unseen_notices
from bancada_hub.store.standing import standing_of


@dataclass(frozen=True)
class Asker:
    """A person at one request.

    Args:
        person: Their account.
        standing: What they lead and are in.
        subject: What the address names.
        notices: What they are to be told and have not seen, the oldest first.
        nowhere: The address names something that is not there: they get the page of who may not see it.
    """

    person: people.Person
    standing: Standing
    subject: Subject
    notices: tuple[Notice, ...] = ()
    nowhere: bool = False


def find_asker(store: Store, name: str, names: Mapping[str, str]) -> Asker:
    """Return who asks.

    Args:
        store: The database.
        name: The account name that the hub vouches for.
        names: What the address names, by the names in the route: a project's or a lab's slug.

    Raises:
        NoAccountError: There is no such account, or it is disabled.
    """
    with store.read() as session:
        person = people.find_person(session, name)
        if person is None or person.disabled:
            raise NoAccountError
        unseen = tuple(unseen_notices(session, person.id))
        subject = _subject(session, names)
        return Asker(person, standing_of(session, person.id), subject or SITE, unseen, nowhere=subject is None)


def _subject(session: Session, names: Mapping[str, str]) -> Subject | None:
    if "project" in names:
        project = projects.find_project(session, names["project"])
        return project.subject if project else None
    if "lab" in names:
        lab = labs.find_lab(session, names["lab"])
        return Subject(lab_id=lab.id) if lab else None
    return SITE
