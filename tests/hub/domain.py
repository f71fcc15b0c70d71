"""A small site's database for tests of people, labs and projects, on SQLite or on PostgreSQL."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bancada_hub.errors import PeopleError
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.people.passwords import hash_password
from bancada_hub.places import Places
from bancada_hub.projects.labs import add_lab_lead, create_lab
from bancada_hub.projects.projects import NewProject, create_project
from bancada_hub.roles import Actor
from bancada_hub.site import Site
from bancada_hub.store import people, projects, trace
from bancada_hub.store.database import Store, migrate, open_store

ROOT = Actor.command_line()
PASSWORD = "correct-horse-battery"
ORIGIN = "192.0.2.7"


def refusal(attempt: Callable[[], object]) -> PeopleError | None:
    """Return how an attempt is refused; None when it is not."""
    try:
        attempt()
    except PeopleError as refused:
        return refused
    return None


@dataclass(frozen=True)
class Town:
    """The lab plants, led by lia, with the projects wheat (led by lia, and ana in it) and rye; and eva, in neither."""

    store: Store
    site: Site

    def actor(self, name: str) -> Actor:
        with self.store.read() as session:
            person = people.find_person(session, name)
        assert person is not None
        return Actor(person.id, person.name, person.admin, ORIGIN)

    def add(self, name: str, **more: object) -> people.Person:
        return add_account(self.store, self.site, ROOT, NewAccount(name, password=PASSWORD, **more))[0]

    def quickly(self, *names: str) -> None:
        """Add people with one hash between them: hashing takes long on purpose."""
        hashed = hash_password(PASSWORD)
        with self.store.write() as session:
            for name in names:
                people.add_person(session, name, hashed, admin=False, first=people.FirstNumbers(2_000_000, 2_000_000))

    def project(self, slug: str) -> projects.Project:
        with self.store.read() as session:
            found = projects.find_project(session, slug)
        assert found is not None
        return found

    def members(self, slug: str) -> dict[str, bool]:
        with self.store.read() as session:
            return {each.person.name: each.lead for each in projects.members(session, self.project(slug).id)}

    def audited(self, **wanted: object) -> list[trace.AuditEntry]:
        with self.store.read() as session:
            assert trace.verify(session) == []
            return trace.audit_entries(session, trace.Filter(**wanted))


def make_town(directory: Path, url: str = "") -> Town:
    """Make the database and fill it."""
    places, site = Places(directory), Site(database={"url": url}) if url else Site()
    places.site.mkdir(parents=True)
    migrate(site, places)
    town = Town(open_store(site, places), site)
    town.quickly("lia", "ana", "eva")
    create_lab(town.store, ROOT, "plants", "Plants")
    add_lab_lead(town.store, ROOT, "plants", "lia")
    for slug in ("wheat", "rye"):
        create_project(town.store, site, town.actor("lia"), NewProject(slug, slug.title(), "plants"))
    with town.store.write() as session:
        ana = people.find_person(session, "ana")
        wheat = projects.find_project(session, "wheat")
        assert ana is not None
        assert wheat is not None
        projects.add_member(session, wheat.id, ana.id)
    return town
