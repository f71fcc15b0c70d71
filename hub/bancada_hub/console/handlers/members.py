"""REST of shared projects for their leads: making, changing, closing them, and who is in them."""

from functools import partial

from bancada_hub.console import ends
from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.handlers.labs import MAX_CPUS, MAX_MEMORY, NAME, SLUG, TITLE, VERSION, page_of
from bancada_hub.console.routes import PREFIX, Field, Route, Rule
from bancada_hub.errors import told
from bancada_hub.projects.limits import change_project_limits, cpu_limit, memory_limit
from bancada_hub.projects.projects import (
    LIMITS,
    NewProject,
    add_member,
    archive_project,
    change_project,
    create_project,
    remove_member,
    set_lead,
)
from bancada_hub.roles import Action
from bancada_hub.store import labs, trace
from bancada_hub.store.database import Store
from bancada_hub.store.projects import EGRESSES, ProjectLimits


class NewProjects(Acting):
    """POST api/labs/<slug>/projects."""

    async def post(self, lab: str) -> None:
        """Make a project in a lab."""
        new = NewProject(self.body["slug"], self.body["title"], lab)
        project = await self.do(create_project, self.store, self.context.launch.site, self.actor, new)
        self.say(
            page_of(lab),
            told("The project %(title)s is made. Next, add people to it.", title=project.title),
            slug=project.slug,
        )


class InProject(Acting):
    """Acts on one project that the person leads."""

    async def back(self) -> str:
        """Return the page that a browser without scripts came from."""
        lab_id = self.asker.subject.lab_id
        return page_of(await self.do(_lab_slug, self.store, lab_id)) if lab_id else PREFIX


class Change(InProject):
    """POST api/projects/<slug>/change."""

    async def post(self, slug: str) -> None:
        """Change a project's title, unless somebody else did after `version`."""
        project = await self.do(change_project, self.store, self.actor, slug, self.body["version"], self.body["title"])
        said = told("The project is now called %(title)s.", title=project.title)
        self.say(await self.back(), said, version=project.version)


class Limit(InProject):
    """POST api/projects/<slug>/limits."""

    async def post(self, slug: str) -> None:
        """Change what a project's servers may hold together and where they may reach, unless somebody else did."""
        limits = await self.do(self._wanted, slug)
        project = await self.do(change_project_limits, self.store, self.actor, slug, self.body["version"], limits)
        said = told("The limits of %(title)s are saved. They hold from each server's next start.", title=project.title)
        self.say(await self.back(), said, version=project.version)

    def _wanted(self, slug: str) -> ProjectLimits:
        with trace.refusals(self.store, self.actor, LIMITS, f"project:{slug}"):
            memory, cpus = memory_limit(self.body["max_memory_gib"]), cpu_limit(self.body["max_cpus"])
        return ProjectLimits(max_memory_bytes=memory, max_cpus=cpus, egress=self.body["egress"])


class Close(InProject):
    """POST api/projects/<slug>/archive and api/projects/<slug>/reopen."""

    async def post(self, slug: str) -> None:
        """Close a project, or open it again."""
        closing = self.request.path.endswith("/archive")
        project = await self.do(partial(archive_project, archived=closing), self.store, self.actor, slug)
        done = (
            told("The project %(title)s is archived: nothing new starts in it.", title=project.title)
            if closing
            else told("The project %(title)s is open again.", title=project.title)
        )
        self.say(await self.back(), done)


class AddMember(InProject):
    """POST api/projects/<slug>/members."""

    async def post(self, slug: str) -> None:
        """Add a person to a project."""
        add = partial(add_member, lead=self.body["lead"])
        member = await self.do(add, self.store, self.actor, slug, self.body["name"].strip())
        name = member.person.shown_name
        done = (
            told("%(person)s is in the project, as a lead.", person=name)
            if member.lead
            else told("%(person)s is in the project.", person=name)
        )
        self.say(await self.back(), done)


class RemoveMember(InProject):
    """POST api/projects/<slug>/members/<person>/remove."""

    async def post(self, slug: str, name: str) -> None:
        """Take a person out of a project, and stop what they have running there."""
        back = await self.back()
        await self.do(remove_member, self.store, self.actor, slug, name)
        stopped = await self.stop_servers(name, slug)
        if stopped:
            await self.do(ends.keep_taken_out, self.store, name, slug, self.asker.person.shown_name)
        self.say(back, told("%(person)s is no longer in the project; their files stay.", person=name), *stopped)


class Leave(InProject):
    """POST api/projects/<slug>/leave."""

    async def post(self, slug: str) -> None:
        """Leave a project; what runs there is stopped."""
        name = self.person_name
        await self.do(remove_member, self.store, self.actor, slug, name)
        self.say(PREFIX, told("You left the project; your files stay."), *await self.stop_servers(name, slug))


class SetLead(InProject):
    """POST api/projects/<slug>/members/<person>/lead."""

    async def post(self, slug: str, name: str) -> None:
        """Give a member the lead of a project, or take it."""
        back = await self.back()
        await self.do(partial(set_lead, lead=self.body["lead"]), self.store, self.actor, slug, name)
        done = (
            told("%(person)s leads the project now.", person=name)
            if self.body["lead"]
            else told("%(person)s no longer leads the project.", person=name)
        )
        self.say(back, done)


def _lab_slug(store: Store, lab_id: int) -> str:
    with store.read() as session:
        return labs.get_lab(session, lab_id).slug


EGRESS = Field("egress", "where its servers may reach, from their next start on", choices=EGRESSES)
LEAD = Field("lead", "whether they lead it", bool)
AS_LEAD = Field("lead", "whether they lead it", bool, default=False)
MANAGE = Action.MANAGE_MEMBERS

ROUTES = [
    Route(
        "api/labs/{lab}/projects",
        NewProjects,
        {
            "POST": Rule(
                Action.CREATE_PROJECT, "Make a project.", answer="Made", audit="project.create", body=(SLUG, TITLE)
            )
        },
    ),
    Route(
        "api/projects/{project}/change",
        Change,
        {
            "POST": Rule(
                Action.CHANGE_PROJECT,
                "Change a project's title.",
                answer="Changed",
                audit="project.change",
                body=(TITLE, VERSION),
            )
        },
    ),
    Route(
        "api/projects/{project}/limits",
        Limit,
        {
            "POST": Rule(
                Action.CHANGE_PROJECT,
                "Change what a project's servers may hold together, and where they may reach.",
                answer="Changed",
                audit="project.limits",
                body=(MAX_MEMORY, MAX_CPUS, EGRESS, VERSION),
            )
        },
    ),
    Route(
        "api/projects/{project}/archive",
        Close,
        {
            "POST": Rule(
                Action.ARCHIVE_PROJECT, "Close a project: nothing new starts.", answer="Said", audit="project.archive"
            )
        },
    ),
    Route(
        "api/projects/{project}/reopen",
        Close,
        {"POST": Rule(Action.ARCHIVE_PROJECT, "Open a project again.", answer="Said", audit="project.reopen")},
    ),
    Route(
        "api/projects/{project}/members",
        AddMember,
        {
            "POST": Rule(
                MANAGE, "Add a person to a project.", answer="Said", audit="project.add-member", body=(NAME, AS_LEAD)
            )
        },
    ),
    Route(
        "api/projects/{project}/members/{person}/remove",
        RemoveMember,
        {
            "POST": Rule(
                MANAGE,
                "Take a person out of a project, and stop what they have running there.",
                answer="Said",
                audit="project.remove-member",
            )
        },
    ),
    Route(
        "api/projects/{project}/members/{person}/lead",
        SetLead,
        {
            "POST": Rule(
                MANAGE, "Give or take the lead of a project.", answer="Said", audit="project.set-lead", body=(LEAD,)
            )
        },
    ),
    Route(
        "api/projects/{project}/leave",
        Leave,
        {"POST": Rule(Action.WORK_IN_PROJECT, "Leave a project.", answer="Said", audit="project.remove-member")},
    ),
]
