"""What one is told: the list of what one has not seen, and saying that one has."""

from bancada_hub.console.access import Who
from bancada_hub.console.errors import NotThereError
from bancada_hub.console.handlers.acting import LONGEST_NUMBER, Acting
from bancada_hub.console.routes import PREFIX, Field, Route, Rule
from bancada_hub.roles import Actor
from bancada_hub.store import trace
from bancada_hub.store.database import Store
from bancada_hub.store.notices import mark_notice_seen, mark_notices_seen


class Notices(Acting):
    """GET api/notices."""

    json_only = True

    async def get(self) -> None:
        """Answer what the person has not seen, the oldest first, in their language."""
        words = self.look.words
        found = [
            {
                "id": notice.id,
                "at": notice.at.isoformat(timespec="seconds"),
                "level": notice.level,
                "text": words.gettext(notice.text),
                "action_label": words.gettext(notice.action_label) if notice.action_label else "",
                "action_url": notice.action_url,
            }
            for notice in self.asker.notices
        ]
        self.send_json({"notices": found})


class _Seeing(Acting):
    """Says that the person saw something."""

    def back(self, seen: int) -> None:
        """Answer a script; send a browser without scripts to Work."""
        if self.wants_json:
            self.send_json({"seen": seen})
        else:
            self.redirect(PREFIX, status=303)


class Seen(_Seeing):
    """POST api/notices/<id>/seen."""

    async def post(self, number: str) -> None:
        """Tell a notice no more."""
        if not (number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER):
            raise NotThereError
        if not await self.do(_see, self.store, self.actor, self.asker.person.id, int(number)):
            raise NotThereError
        self.back(1)


class SeenAll(_Seeing):
    """POST api/notices/seen."""

    async def post(self) -> None:
        """Tell no notice up to `up_to` any more."""
        seen = await self.do(_see_all, self.store, self.actor, self.asker.person.id, self.body["up_to"])
        self.back(seen)


def _see(store: Store, actor: Actor, person_id: int, number: int) -> bool:
    with store.write() as session:
        found = mark_notice_seen(session, person_id, number)
        if found:
            trace.audit(session, trace.Entry(actor, "notice.seen", f"notice:{number}"))
        return found


def _see_all(store: Store, actor: Actor, person_id: int, up_to: int) -> int:
    with store.write() as session:
        seen = mark_notices_seen(session, person_id, up_to)
        trace.audit(session, trace.Entry(actor, "notice.seen", f"person:{actor.name}", detail={"notices": seen}))
        return seen


UP_TO = Field("up_to", "the number of the last notice that was shown", int)

ROUTES = [
    Route(
        "api/notices",
        Notices,
        {"GET": Rule(Who.PERSON, "What one is told and has not seen.", answer="Notices", with_first_password=True)},
    ),
    Route(
        "api/notices/seen",
        SeenAll,
        {
            "POST": Rule(
                Who.PERSON,
                "Say that one saw all notices up to one.",
                answer="Seen",
                audit="notice.seen",
                body=(UP_TO,),
                with_first_password=True,
            )
        },
    ),
    Route(
        "api/notices/{notice}/seen",
        Seen,
        {
            "POST": Rule(
                Who.PERSON, "Say that one saw a notice.", answer="Seen", audit="notice.seen", with_first_password=True
            )
        },
    ),
]
