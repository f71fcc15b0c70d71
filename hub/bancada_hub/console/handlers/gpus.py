"""The page GPUs and its REST: cards, what administrators decide about them, incidents, leases that need attention."""

import time

from bancada_hub.console.access import Who
from bancada_hub.console.errors import NotThereError
from bancada_hub.console.gpu_cards import attention_json, cards_json, incident_json, read_cards
from bancada_hub.console.handlers.acting import LONGEST_NUMBER
from bancada_hub.console.handlers.queue import PAGE, in_words
from bancada_hub.console.handlers.tabs import Tab
from bancada_hub.console.routes import Field, Route, Rule
from bancada_hub.errors import Told, told
from bancada_hub.gpus import marks
from bancada_hub.gpus.attention import Looking, free_lease, say_well
from bancada_hub.gpus.board_model import moment
from bancada_hub.gpus.marks import LONGEST_REASON, MOST_TENANTS, Marked, Marking, Reserved
from bancada_hub.roles import Action


class GpusPage(Tab):
    """GET gpus."""

    tab = "gpus"

    async def get(self) -> None:
        """Show the machine's cards, or why none can be read."""
        _, choice = await self.chosen()
        found = await self.context.cards.ask()
        board, _ = await self.context.queue.board(self.asker.person.id)
        view = await self.do(read_cards, self.store, found, self.asker.standing)
        self.show(
            choice,
            found=found,
            board=board,
            view=view,
            admin=self.asker.standing.admin,
            most_tenants=MOST_TENANTS,
            longest_reason=LONGEST_REASON,
            in_words=in_words,
            moment=moment,
        )


class Cards(Tab):
    """GET api/gpus."""

    async def get(self) -> None:
        """Answer the cards, as far as the person may know of them."""
        found = await self.context.cards.ask()
        view = await self.do(read_cards, self.store, found, self.asker.standing)
        self.send_json(cards_json(found, view, self.look.words))


class Incidents(Tab):
    """GET api/gpus/incidents."""

    async def get(self) -> None:
        """Answer what failed, and which leases somebody has to look at."""
        found = await self.context.cards.ask()
        view = await self.do(read_cards, self.store, found, self.asker.standing)
        words = self.look.words
        self.send_json(
            {
                "incidents": [incident_json(each, words) for each in view.incidents],
                "attention": [attention_json(each, words) for each in view.attention],
            }
        )


class MarkHandler(Tab):
    """Marks a card."""

    async def marking(self, card: str) -> Marking:
        """Return who marks which card, and why."""
        found = await self.context.cards.recent(60.0)
        return Marking(self.actor, card, self.body["reason"], found, time.time())

    def marked(self, marked: Marked, said: Told) -> None:
        """Say what came of it, and let the queue look."""
        self.context.queue.look_soon()
        then = marks.resulting(marked)
        self.say(PAGE, said, *((then,) if then else ()), uuid=marked.card.seen.uuid, held=marked.held)


class TakeOut(MarkHandler):
    """POST api/gpus/<card>/out."""

    async def post(self, card: str) -> None:
        """Take a card out of service."""
        marked = await self.do(marks.take_out, self.store, await self.marking(card))
        self.marked(marked, told("The card is out of service: nobody new gets it."))


class PutBack(MarkHandler):
    """POST api/gpus/<card>/back."""

    async def post(self, card: str) -> None:
        """Put a card back into service."""
        marked = await self.do(marks.put_back, self.store, await self.marking(card))
        self.marked(marked, told("The card is in service again."))


class Share(MarkHandler):
    """POST api/gpus/<card>/share."""

    async def post(self, card: str) -> None:
        """Let several hold a card at once."""
        tenants = self.body["tenants"]
        marked = await self.do(marks.share, self.store, await self.marking(card), tenants)
        self.marked(
            marked,
            told("The card is shared by at most %(n)s, with no memory protection from each other.", n=tenants)
            if tenants > 1
            else told("The card has one holder at a time."),
        )


class Reserve(MarkHandler):
    """POST api/gpus/<card>/reserve."""

    async def post(self, card: str) -> None:
        """Keep a card for a project or lab, or for nobody."""
        kind, _, slug = self.body["whom"].partition(":")
        reserved = Reserved(project=slug) if kind == "project" else Reserved(lab=slug if kind == "lab" else kind)
        marked = await self.do(marks.reserve, self.store, await self.marking(card), reserved)
        self.marked(
            marked,
            told("The card is kept for those who were named.") if slug else told("Everybody may get the card."),
        )


class Forget(MarkHandler):
    """POST api/gpus/<card>/forget."""

    async def post(self, card: str) -> None:
        """Forget a card that left the machine for good."""
        await self.do(marks.forget, self.store, await self.marking(card))
        await self.context.cards.ask()
        self.say(PAGE, told("The card is forgotten."))


class SayWell(Tab):
    """POST api/gpus/incidents/<incident>/well."""

    async def post(self, number: str) -> None:
        """End an incident after a look."""
        looking = Looking(self.actor, self.body["reason"], time.time())
        await self.do(say_well, self.store, looking, row(number))
        self.context.queue.look_soon()
        self.say(PAGE, told("The incident is over. Should the same still be wrong, it begins anew."))


class FreeLease(Tab):
    """POST api/queue/<request>/free."""

    async def post(self, number: str) -> None:
        """End a lease whose server has gone, after a look at its card."""
        found = await self.context.cards.ask()
        looking = Looking(self.actor, self.body["reason"], time.time())
        await self.do(free_lease, self.store, looking, row(number), found)
        self.context.queue.look_soon()
        self.say(PAGE, told("The lease is over: its card goes to whoever is next."))


def row(number: str) -> int:
    """Return the number of a row in an address.

    Raises:
        NotThereError: It is none.
    """
    if not (number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER):
        raise NotThereError
    return int(number)


WHY = Field("reason", "why, in one line; people who wait read it", default="")
FOUND = Field("reason", "what was found, in one line; goes into the audit")
OUT = (Field("reason", "why, in one line; people who wait read it"),)
TENANTS = Field("tenants", "how many may hold it at once; 1 ends the sharing", int)
WHOM = Field("whom", "“project:” or “lab:” and a short name; empty for everybody", default="")


def _mark(verb: str, handler: type[MarkHandler], summary: str, *body: Field) -> Route:
    rule = Rule(Action.MANAGE_GPUS, summary, answer="Marked", audit=f"gpu.{verb}", body=body)
    return Route(f"api/gpus/{{card}}/{verb}", handler, {"POST": rule})


def _looked(path: str, handler: type[Tab], summary: str, audit: str) -> Route:
    rule = Rule(Action.MANAGE_GPUS, summary, answer="Said", audit=audit, body=(FOUND,))
    return Route(path, handler, {"POST": rule})


ROUTES = [
    Route("gpus", GpusPage, {"GET": Rule(Who.PERSON, "The page GPUs.")}),
    Route("api/gpus", Cards, {"GET": Rule(Who.PERSON, "The machine's GPUs.", answer="Cards")}),
    Route(
        "api/gpus/incidents",
        Incidents,
        {"GET": Rule(Action.MANAGE_GPUS, "What failed, and what needs attention.", answer="Incidents")},
    ),
    _mark("out", TakeOut, "Take a GPU out of service; its holder keeps it.", *OUT),
    _mark("back", PutBack, "Put a GPU back into service.", WHY),
    _mark("share", Share, "Let several hold a GPU at once, without memory protection.", TENANTS, WHY),
    _mark("reserve", Reserve, "Keep a GPU for a project or a lab.", WHOM, WHY),
    Route(
        "api/gpus/{card}/forget",
        Forget,
        {
            "POST": Rule(
                Action.MANAGE_GPUS, "Forget a GPU that left for good.", answer="Said", audit="gpu.forget", body=(WHY,)
            )
        },
    ),
    _looked("api/gpus/incidents/{incident}/well", SayWell, "Say that a GPU's incident is over.", "gpu.well"),
    _looked("api/queue/{request}/free", FreeLease, "End a lease whose server has gone.", "gpu.free"),
]
