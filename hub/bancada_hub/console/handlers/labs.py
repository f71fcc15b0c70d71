"""The tab Lab, and labs in Site: making, changing and closing them, and who leads them."""

from functools import partial

from bancada_hub.console.access import Who
from bancada_hub.console.errors import NotThereError
from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.lab import all_labs, lab_model, read_lab, visible_labs
from bancada_hub.console.routes import PREFIX, Field, Route, Rule
from bancada_hub.errors import told
from bancada_hub.projects.labs import add_lab_lead, archive_lab, change_lab, create_lab, remove_lab_lead
from bancada_hub.projects.limits import LAB_LIMITS, change_lab_limits, cpu_limit, memory_limit
from bancada_hub.roles import Action
from bancada_hub.store import trace
from bancada_hub.store.labs import LabLimits

LABS_PAGE = PREFIX + "site/labs"


def page_of(lab: str) -> str:
    """Return the address of a lab's page."""
    return f"{PREFIX}lab/{lab}"


class FirstLab(Acting):
    """GET lab: leads to the first lab that the person may see."""

    async def get(self) -> None:
        """Lead there; admins of a site without labs to where labs are made."""
        found = await self.do(visible_labs, self.store, self.asker.standing)
        if found:
            self.redirect(page_of(found[0].slug))
        elif self.asker.standing.admin:
            self.redirect(LABS_PAGE)
        else:
            raise NotThereError


class LabPage(Acting):
    """GET lab/<slug>: projects, who is in them, who leads the lab."""

    async def get(self, slug: str) -> None:
        """Show a lab with those of its projects that the reader leads."""
        view = await self.do(read_lab, self.store, self.asker.standing, slug)
        board, _ = await self.context.queue.board(self.asker.person.id)
        self.finish(self.page("lab.html", tab="lab", view=view, board=board))


class LabsPage(Acting):
    """GET site/labs: all labs."""

    async def get(self) -> None:
        """Show every lab."""
        self.finish(self.page("labs.html", tab="site", part="labs", rows=await self.do(all_labs, self.store)))


class Labs(Acting):
    """GET and POST api/labs."""

    async def get(self) -> None:
        """Answer the labs that the person may see."""
        found = await self.do(visible_labs, self.store, self.asker.standing)
        self.send_json({"labs": [{"slug": lab.slug, "title": lab.title} for lab in found]})

    async def post(self) -> None:
        """Make a lab."""
        lab = await self.do(create_lab, self.store, self.actor, self.body["slug"], self.body["title"])
        self.say(LABS_PAGE, told("The lab %(slug)s is made. Next, say who leads it.", slug=lab.slug), slug=lab.slug)


class Lab(Acting):
    """GET api/labs/<slug>."""

    async def get(self, slug: str) -> None:
        """Answer a lab with those of its projects that the reader leads."""
        self.send_json(lab_model(await self.do(read_lab, self.store, self.asker.standing, slug)))


class ChangeLab(Acting):
    """POST api/labs/<slug>/change."""

    async def post(self, slug: str) -> None:
        """Change a lab's title."""
        lab = await self.do(change_lab, self.store, self.actor, slug, self.body["title"])
        self.say(page_of(slug), told("The lab is now called %(title)s.", title=lab.title))


class LimitLab(Acting):
    """POST api/labs/<slug>/limits."""

    async def post(self, slug: str) -> None:
        """Change what a lab's servers may hold together, unless somebody else changed it after `version`."""
        limits = await self.do(self._wanted, slug)
        lab = await self.do(change_lab_limits, self.store, self.actor, slug, self.body["version"], limits)
        said = told("The limits of the lab %(slug)s are saved. What runs goes on as it is.", slug=slug)
        self.say(LABS_PAGE, said, version=lab.version)

    def _wanted(self, slug: str) -> LabLimits:
        with trace.refusals(self.store, self.actor, LAB_LIMITS, f"lab:{slug}"):
            return LabLimits(memory_limit(self.body["max_memory_gib"]), cpu_limit(self.body["max_cpus"]))


class CloseLab(Acting):
    """POST api/labs/<slug>/archive and api/labs/<slug>/reopen."""

    async def post(self, slug: str) -> None:
        """Close a lab, or open it again."""
        closing = self.request.path.endswith("/archive")
        await self.do(partial(archive_lab, archived=closing), self.store, self.actor, slug)
        done = (
            told("The lab %(slug)s is archived.", slug=slug)
            if closing
            else told("The lab %(slug)s is open again.", slug=slug)
        )
        self.say(LABS_PAGE, done)


class AddLead(Acting):
    """POST api/labs/<slug>/leads."""

    async def post(self, slug: str) -> None:
        """Make a person a lead of a lab."""
        person = await self.do(add_lab_lead, self.store, self.actor, slug, self.body["name"].strip())
        self.say(
            page_of(slug),
            told("%(person)s leads the lab %(slug)s now.", person=person.name, slug=slug),
        )


class RemoveLead(Acting):
    """POST api/labs/<slug>/leads/<person>/remove."""

    async def post(self, slug: str, name: str) -> None:
        """Take the lead of a lab from a person."""
        await self.do(remove_lab_lead, self.store, self.actor, slug, name)
        self.say(page_of(slug), told("%(person)s no longer leads the lab %(slug)s.", person=name, slug=slug))


TITLE = Field("title", "what pages call it, 1 to 80 characters")
SLUG = Field("slug", "its short name, for ever: 1 to 24 of a-z, 0-9 and hyphen, first a letter, last no hyphen")
NAME = Field("name", "an account name")
VERSION = Field("version", "the version that was read, so that nobody overwrites what they did not see", int)
MAX_MEMORY = Field(
    "max_memory_gib", "the most memory that its servers may hold together, in GiB; null: no limit", float
)
MAX_CPUS = Field("max_cpus", "the most CPU that its servers may hold together, in cores; null: no limit", float)
LEADS = Action.SET_LAB_LEADS

ROUTES = [
    Route("lab", FirstLab, {"GET": Rule(Who.ANY_LEAD, "Leads to the first lab that one may see.")}),
    Route("lab/{lab}", LabPage, {"GET": Rule(Action.SEE_LAB, "The page of a lab.")}),
    Route("site/labs", LabsPage, {"GET": Rule(Action.SEE_SITE, "All labs.")}),
    Route(
        "api/labs",
        Labs,
        {
            "GET": Rule(Who.ANY_LEAD, "The labs that one may see.", answer="Labs"),
            "POST": Rule(Action.CREATE_LAB, "Make a lab.", answer="Made", audit="lab.create", body=(SLUG, TITLE)),
        },
    ),
    Route(
        "api/labs/{lab}",
        Lab,
        {"GET": Rule(Action.SEE_LAB, "A lab with those of its projects that one leads.", answer="Lab")},
    ),
    Route(
        "api/labs/{lab}/change",
        ChangeLab,
        {"POST": Rule(Action.CHANGE_LAB, "Change a lab's title.", answer="Said", audit="lab.change", body=(TITLE,))},
    ),
    Route(
        "api/labs/{lab}/limits",
        LimitLab,
        {
            "POST": Rule(
                Action.SET_LAB_LIMITS,
                "Change what a lab's servers may hold together.",
                answer="Changed",
                audit="lab.limits",
                body=(MAX_MEMORY, MAX_CPUS, VERSION),
            )
        },
    ),
    Route(
        "api/labs/{lab}/archive",
        CloseLab,
        {"POST": Rule(Action.ARCHIVE_LAB, "Close a lab without projects in use.", answer="Said", audit="lab.archive")},
    ),
    Route(
        "api/labs/{lab}/reopen",
        CloseLab,
        {"POST": Rule(Action.ARCHIVE_LAB, "Open a lab again.", answer="Said", audit="lab.reopen")},
    ),
    Route(
        "api/labs/{lab}/leads",
        AddLead,
        {"POST": Rule(LEADS, "Make a person a lead of a lab.", answer="Said", audit="lab.add-lead", body=(NAME,))},
    ),
    Route(
        "api/labs/{lab}/leads/{person}/remove",
        RemoveLead,
        {"POST": Rule(LEADS, "Take the lead of a lab from a person.", answer="Said", audit="lab.remove-lead")},
    ),
]
