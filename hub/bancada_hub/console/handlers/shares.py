"""Dividing the GPUs: what a lab and its projects may have, always or for a time; each change can be tried first."""

from collections.abc import Iterable

from bancada_hub.console.access import Who
from bancada_hub.console.errors import BadBodyError, NotThereError
from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.handlers.labs import LABS_PAGE, VERSION, page_of
from bancada_hub.console.routes import Field, Route, Rule
from bancada_hub.errors import Told, told
from bancada_hub.gpus.dividing import Wanted, divide, drop_rule, set_rule, try_division, try_rule
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.gpus.outlook import Outcome, in_sentences
from bancada_hub.gpus.scheduling.preview import Preview
from bancada_hub.gpus.shares import read_days, read_hours, read_moment
from bancada_hub.gpus.terms import machine_zone
from bancada_hub.roles import Action
from bancada_hub.store import labs, projects
from bancada_hub.store.gpu_rules import LabShare, NewRule, ProjectShare

GIB, HOUR_S = 2**30, 3600.0
RECENT_S = 30.0


class Dividing(Acting):
    """What the handlers of shares and rules do alike."""

    async def cards(self) -> Inventory:
        """Return the machine's cards, as they were a moment ago."""
        return await self.context.cards.recent(RECENT_S)

    def whole(self, name: str) -> int | None:
        """Return a number of cards that may be missing.

        Raises:
            BadBodyError: It is no whole number.
        """
        given: float | None = self.body[name]
        if given is None:
            return None
        if given != int(given):
            raise BadBodyError(told("The field “%(name)s” must be a whole number.", name=name))
        return int(given)

    async def tell_outcome(self, back: str, preview: Preview) -> None:
        """Say what a change would do."""

        def sentences() -> Outcome:
            with self.store.read() as session:
                return in_sentences(session, preview)

        found = await self.do(sentences)
        words = self.look.words

        def in_words(lines: Iterable[Told]) -> list[str]:
            return [words.gettext(each) for each in lines]

        heads = {"gains": told("Served more or sooner:"), "waits": told("Served less or later:")}
        said: list[Told] = []
        for name, lines in (("gains", found.gains), ("waits", found.waits)):
            said += [heads[name], *lines] if lines else []
        said += [*found.problems, *found.remarks, told("Nothing was changed.")]
        self.say(
            back,
            *said,
            gains=in_words(found.gains),
            waits=in_words(found.waits),
            remarks=in_words(found.remarks),
            problems=in_words(found.problems),
        )

    async def lab_page(self, slug: str) -> str:
        """Return the page of a project's lab; of labs, where nobody may know of it."""

        def find() -> str:
            with self.store.read() as session:
                project = projects.find_project(session, slug)
                if project is None or project.lab_id is None:
                    raise NotThereError
                return page_of(labs.get_lab(session, project.lab_id).slug)

        return await self.do(find)


class ShareOfLab(Dividing):
    """POST api/labs/<slug>/share."""

    async def post(self, slug: str) -> None:
        """Change what a lab's projects may have of the GPUs together, or say what that would do."""
        share = LabShare(self.whole("max_gpus"), _or_one(self.body["gpu_weight"]))
        wanted, cards = Wanted(slug, self.body["version"], share), await self.cards()
        if self.body["preview"]:
            await self.tell_outcome(LABS_PAGE, await self.do(try_division, self.store, self.actor, wanted, cards))
            return
        await self.do(divide, self.store, self.actor, wanted, cards)
        self.context.queue.look_soon()
        said = told("The GPUs of the lab %(slug)s are set. Nobody's work is ended.", slug=slug)
        self.say(LABS_PAGE, said, version=wanted.version + 1)


class ShareOfProject(Dividing):
    """POST api/projects/<slug>/share."""

    async def post(self, slug: str) -> None:
        """Change what a project may have of the GPUs, or say what that would do."""
        body = self.body
        share = ProjectShare(
            max_gpus=self.whole("max_gpus"),
            max_person_gpus=self.whole("max_person_gpus"),
            gpu_guarantee=self.whole("guarantee") or 0,
            gpu_within_s=(4.0 if body["within_hours"] is None else body["within_hours"]) * HOUR_S,
            gpu_memory_bytes=int((body["guarantee_gib"] or 0.0) * GIB),
            gpu_weight=_or_one(body["gpu_weight"]),
        )
        wanted, cards, back = Wanted(slug, body["version"], share), await self.cards(), await self.lab_page(slug)
        if body["preview"]:
            await self.tell_outcome(back, await self.do(try_division, self.store, self.actor, wanted, cards))
            return
        await self.do(divide, self.store, self.actor, wanted, cards)
        self.context.queue.look_soon()
        said = told("The GPUs of the project %(slug)s are set. Nobody's work is ended.", slug=slug)
        self.say(back, said, version=wanted.version + 1)


class AddRule(Dividing):
    """POST api/projects/<slug>/rules and api/labs/<slug>/rules."""

    async def post(self, slug: str) -> None:
        """Let something hold for a time, or say what it would do."""
        of_lab = "/labs/" in self.request.path
        back = page_of(slug) if of_lab else await self.lab_page(slug)
        new, cards = self._rule(of_lab=of_lab), await self.cards()
        if self.body["preview"]:
            await self.tell_outcome(back, await self.do(try_rule, self.store, self.actor, slug, new, cards))
            return
        made = await self.do(set_rule, self.store, self.actor, slug, new, cards)
        self.context.queue.look_soon()
        self.say(back, told("Rule %(n)s is set.", n=made.id), rule=made.id)

    def _rule(self, *, of_lab: bool) -> NewRule:
        body, zone = self.body, machine_zone()
        hours = read_hours(body["hours"]) or (None, None)
        return NewRule(
            project_id=None if of_lab else 0,
            lab_id=0 if of_lab else None,
            from_s=read_moment(body["from"], zone),
            until_s=read_moment(body["until"], zone),
            days=read_days(body["days"]),
            from_minute=hours[0],
            minutes=hours[1],
            guarantee=self.whole("guarantee"),
            max_gpus=self.whole("max_gpus"),
            max_person_gpus=self.whole("max_person_gpus"),
            weight=body["gpu_weight"],
            note=body["note"].strip(),
        )


class RemoveRule(Dividing):
    """POST api/rules/<rule>/remove."""

    async def post(self, number: str) -> None:
        """End what holds for a time."""
        if not (number.isascii() and number.isdigit() and len(number) <= 9):
            raise NotThereError
        dropped = await self.do(drop_rule, self.store, self.actor, int(number))
        self.context.queue.look_soon()
        self.say(await self.do(self._back, dropped.new), told("The rule is no more."))

    def _back(self, rule: NewRule) -> str:
        with self.store.read() as session:
            of = projects.get_project(session, rule.project_id).lab_id if rule.project_id is not None else rule.lab_id
            return LABS_PAGE if of is None else page_of(labs.get_lab(session, of).slug)


def _number(name: str, about: str, *, optional: bool = False) -> Field:
    return Field(name, about, float, optional=optional)


def _or_one(weight: float | None) -> float:
    return 1.0 if weight is None else weight


PREVIEW = Field("preview", "say who would gain and who would wait, and change nothing", bool, default=False)
MAX_GPUS = _number("max_gpus", "the most GPUs at once; null: no limit")
EACH = _number("max_person_gpus", "the most GPUs at once for each person in it; null: no limit")
GUARANTEE = _number("guarantee", "GPUs that it gets whenever it asks; null: none")
WITHIN = _number("within_hours", "how soon it gets them, in hours; null: 4")
OF_GIB = _number("guarantee_gib", "least memory of the guaranteed GPUs, in GiB; null: any")
WEIGHT = _number("gpu_weight", "its share of what may be borrowed, against others; null: 1")
RULE = (
    Field("from", "since when, as 2026-12-01T08:00 in the machine's time zone; empty: always", default=""),
    Field("until", "until when; empty: always", default=""),
    Field("days", "on these days of the week alone, such as mon-fri; empty: all", default=""),
    Field("hours", "at these hours alone, such as 22:00-08:00; empty: all", default=""),
    _number("max_gpus", "the most GPUs at once; null: as always", optional=True),
    _number("max_person_gpus", "the most for each person; null: as always", optional=True),
    _number("guarantee", "guaranteed GPUs; null: as always", optional=True),
    _number("gpu_weight", "the weight; null: as always", optional=True),
    Field("note", "what for", default=""),
    PREVIEW,
)

ROUTES = [
    Route(
        "api/labs/{lab}/share",
        ShareOfLab,
        {
            "POST": Rule(
                Action.SET_LAB_LIMITS,
                "Change what a lab's projects may have of the GPUs together, or try it.",
                answer="Divided",
                audit="lab.gpus",
                body=(MAX_GPUS, WEIGHT, VERSION, PREVIEW),
            )
        },
    ),
    Route(
        "api/projects/{project}/share",
        ShareOfProject,
        {
            "POST": Rule(
                Action.DIVIDE_GPUS,
                "Change what a project may have of the GPUs, or try it.",
                answer="Divided",
                audit="project.gpus",
                body=(MAX_GPUS, EACH, GUARANTEE, WITHIN, OF_GIB, WEIGHT, VERSION, PREVIEW),
            )
        },
    ),
    Route(
        "api/labs/{lab}/rules",
        AddRule,
        {
            "POST": Rule(
                Action.SET_LAB_LIMITS,
                "Let a lab have other GPUs for a time, or try it.",
                answer="Divided",
                audit="lab.rule-add",
                body=RULE,
            )
        },
    ),
    Route(
        "api/projects/{project}/rules",
        AddRule,
        {
            "POST": Rule(
                Action.DIVIDE_GPUS,
                "Let a project have other GPUs for a time, or try it.",
                answer="Divided",
                audit="project.rule-add",
                body=RULE,
            )
        },
    ),
    Route(
        "api/rules/{rule}/remove",
        RemoveRule,
        {"POST": Rule(Who.ANY_LEAD, "End what holds for a time.", answer="Said", audit="gpu.rule-remove")},
    ),
]
