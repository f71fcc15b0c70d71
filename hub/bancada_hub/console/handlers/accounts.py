"""People, for admins: adding accounts, who runs the site, switching them off and on, giving another password."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.routes import PREFIX, Field, Route, Rule
from bancada_hub.errors import told
from bancada_hub.people.accounts import (
    NewAccount,
    add_account,
    disable_account,
    enable_account,
    reset_password,
    set_admin,
)
from bancada_hub.roles import Action, Role
from bancada_hub.store import people, projects
from bancada_hub.store.database import Store
from bancada_hub.store.standing import standing_of

PAGE = PREFIX + "site/people"


@dataclass(frozen=True)
class PersonRow:
    """A person in the list of all."""

    person: people.Person
    role: Role
    projects: tuple[projects.Project, ...]
    locked: bool


class PeoplePage(Acting):
    """GET site/people."""

    async def get(self) -> None:
        """Show everybody."""
        rows = await self.do(read_people, self.store)
        self.finish(self.page("people.html", tab="site", part="people", rows=rows, own=self.person_name))


class People(Acting):
    """GET and POST api/people."""

    async def get(self) -> None:
        """Answer everybody who has an account."""
        rows = await self.do(read_people, self.store)
        self.send_json(
            {
                "people": [
                    {
                        "name": row.person.name,
                        "display_name": row.person.display_name,
                        "role": row.role.value,
                        "disabled": row.person.disabled,
                        "locked": row.locked,
                        "projects": [project.slug for project in row.projects],
                    }
                    for row in rows
                ]
            }
        )

    async def post(self) -> None:
        """Add a person; the answer has their first password, which is kept nowhere."""
        body = self.body
        new = NewAccount(body["name"].strip(), admin=body["admin"], display_name=body["display_name"].strip())
        person, password = await self.do(add_account, self.store, self.context.launch.site, self.actor, new)
        self.say(
            PAGE,
            told("%(person)s has an account. Tell them this password; they choose their own.", person=person.name),
            password=password,
            name=person.name,
        )


class SwitchAccount(Acting):
    """POST api/people/<name>/disable and api/people/<name>/enable."""

    async def post(self, name: str) -> None:
        """Switch an account off or on."""
        off = self.request.path.endswith("/disable")
        await self.do(disable_account if off else enable_account, self.store, self.actor, name)
        done = (
            told("The account %(person)s is switched off. What runs is stopped within some ten seconds.", person=name)
            if off
            else told("The account %(person)s is switched on.", person=name)
        )
        self.say(PAGE, done)


class RunsSite(Acting):
    """POST api/people/<name>/admin."""

    async def post(self, name: str) -> None:
        """Let a person run the site, or no longer."""
        person = await self.do(partial(set_admin, self.store, self.actor, name, admin=self.body["admin"]))
        done = (
            told("%(person)s runs this site now.", person=name)
            if person.admin
            else told("%(person)s no longer runs this site.", person=name)
        )
        self.say(PAGE, done)


class ResetPassword(Acting):
    """POST api/people/<name>/password."""

    async def post(self, name: str) -> None:
        """Give a person another password, and open their account if it is locked."""
        password = await self.do(reset_password, self.store, self.actor, name)
        done = told("%(person)s has a new password. Tell it to them; they choose their own.", person=name)
        self.say(PAGE, done, password=password)


def read_people(store: Store) -> list[PersonRow]:
    """Return everybody with what they are and where."""
    now = datetime.now(UTC)
    with store.read() as session:
        return [
            PersonRow(
                person,
                standing_of(session, person.id).role,
                tuple(each for each in projects.projects_of(session, person.id) if not each.personal),
                locked=person.locked_until is not None and person.locked_until > now,
            )
            for person in people.people(session)
        ]


MANAGE = Action.MANAGE_PEOPLE
NEW = (
    Field("name", "the account name: a-z, 0-9, dot, underscore, hyphen; first a letter"),
    Field("display_name", "what pages call them; empty: the account name", default=""),
    Field("admin", "whether they run the site", bool, default=False),
)

ROUTES = [
    Route("site/people", PeoplePage, {"GET": Rule(Action.SEE_SITE, "Everybody who has an account.")}),
    Route(
        "api/people",
        People,
        {
            "GET": Rule(MANAGE, "Everybody who has an account.", answer="People"),
            "POST": Rule(
                MANAGE, "Add a person; answers their first password.", answer="NewPerson", audit="person.add", body=NEW
            ),
        },
    ),
    Route(
        "api/people/{person}/disable",
        SwitchAccount,
        {"POST": Rule(MANAGE, "Switch an account off.", answer="Said", audit="person.disable")},
    ),
    Route(
        "api/people/{person}/enable",
        SwitchAccount,
        {"POST": Rule(MANAGE, "Switch an account on.", answer="Said", audit="person.enable")},
    ),
    Route(
        "api/people/{person}/admin",
        RunsSite,
        {
            "POST": Rule(
                MANAGE,
                "Let a person run the site, or no longer.",
                answer="Said",
                audit="person.admin",
                body=(Field("admin", "whether they run the site", bool),),
            )
        },
    ),
    Route(
        "api/people/{person}/password",
        ResetPassword,
        {"POST": Rule(MANAGE, "Give a person another password.", answer="NewPassword", audit="person.reset-password")},
    ),
]
