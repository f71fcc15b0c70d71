"""The GPU queue: who waits and why, asking, giving a place up."""

from dataclasses import dataclass

from bancada_hub.console.access import Who
from bancada_hub.console.errors import NotThereError
from bancada_hub.console.handlers.acting import Acting
from bancada_hub.console.handlers.projects import SIZE
from bancada_hub.console.routes import PREFIX, Field, Route, Rule
from bancada_hub.errors import told
from bancada_hub.gpus.asking import Asker
from bancada_hub.gpus.board import Waits
from bancada_hub.gpus.board_model import board_json
from bancada_hub.gpus.scheduling.forecast import Range
from bancada_hub.gpus.scheduling.rules import Purpose
from bancada_hub.gpus.scheduling.values import OnGrant
from bancada_hub.roles import Action
from bancada_hub.store.requests import RequestState
from bancada_hub.store.servers import remember_size
from bancada_hub.ui.language import Words

PAGE = PREFIX + "gpus"
ANY = 0.0
NO_PROTECTION = told("A shared GPU has no memory protection: each program on it can take, or read, all of its memory.")


@dataclass(frozen=True)
class WaitText:
    """A place in the queue in words.

    Args:
        wait: How long it may take; empty where nobody can say.
        reason: What stands against it now.
        change: What would change that.
    """

    wait: str
    reason: str
    change: str


class Queue(Acting):
    """GET api/queue."""

    async def get(self) -> None:
        """Answer who holds cards and who waits, as far as the person may know."""
        board, _ = await self.context.queue.board(self.asker.person.id)
        self.send_json(board_json(board, self.look.words.gettext))


class AskForCards(Acting):
    """POST api/projects/<slug>/gpu."""

    async def post(self, slug: str) -> None:
        """Ask for cards, for one's own work in a project."""
        body = self.body
        asked = {
            "cards": body["cards"],
            "memory_gib": body["memory_gib"],
            "purpose": body["purpose"],
            "on_grant": body["on_grant"],
            **({"hours": body["hours"]} if body["hours"] != ANY else {}),
            **({"profile": body["profile"]} if body["profile"] else {}),
            **({"shared": True} if body["shared"] else {}),
        }
        found = await self.context.queue.ask(self.actor, Asker(self.person_name, slug), asked)
        if body["size"]:
            await self.do(remember_size, self.store, found.project_id, found.person_id, body["size"])
        granted = found.state is RequestState.GRANTED
        said = (
            told("The GPU is yours: it starts now.")
            if granted and body["on_grant"] == OnGrant.START.value
            else told("The GPU is yours. Start within a quarter of an hour.")
            if granted
            else told("You are in the queue. Work and GPUs show your place.")
        )
        shared = (NO_PROTECTION,) if body["shared"] else ()
        self.say(PREFIX, said, *shared, request=found.id, granted=granted)


class CancelRequest(Acting):
    """POST api/queue/<request>/cancel."""

    async def post(self, number: str) -> None:
        """Take a request out of the queue, or give a grant back that no server has taken."""
        if not (number.isascii() and number.isdigit() and len(number) <= 9):
            raise NotThereError
        await self.context.queue.cancel(self.actor, int(number))
        self.say(PAGE, told("The request is cancelled."))


def in_words(waits: Waits, words: Words) -> WaitText:
    """Return what a person is told of their place."""
    return WaitText(_range(waits.wait, words), words.gettext(waits.reason), words.gettext(waits.change))


def _range(wait: Range | None, words: Words) -> str:
    if wait is None:
        return ""
    low, high = words.duration(wait.low_s), words.duration(wait.high_s)
    return low if low == high else words.gettext(told("%(low)s to %(high)s", low=low, high=high))


ASK = (
    Field("cards", "how many", int, default=1),
    Field("memory_gib", "least memory of each card, in GiB", float, default=ANY),
    Field("profile", "a MIG size instead of whole cards", default=""),
    Field("shared", "a place on a shared card, without memory protection, instead of one's own", bool, default=False),
    Field("purpose", "what for", default=Purpose.INTERACTIVE.value, choices=tuple(each.value for each in Purpose)),
    Field("hours", "for how long; 0: as long as the purpose allows", float, default=ANY),
    Field(
        "on_grant",
        "“start” starts the server by itself, “hold” keeps the cards for a quarter of an hour",
        default=OnGrant.START.value,
        choices=tuple(each.value for each in OnGrant),
    ),
    SIZE,
)

ROUTES = [
    Route("api/queue", Queue, {"GET": Rule(Who.PERSON, "Who has GPUs and who waits.", answer="Queue")}),
    Route(
        "api/queue/{request}/cancel",
        CancelRequest,
        {"POST": Rule(Who.PERSON, "Cancel a request for GPUs.", answer="Said", audit="gpu.cancel")},
    ),
    Route(
        "api/projects/{project}/gpu",
        AskForCards,
        {
            "POST": Rule(
                Action.WORK_IN_PROJECT, "Ask for GPUs for one's own work.", answer="Asked", audit="gpu.ask", body=ASK
            )
        },
    ),
]
