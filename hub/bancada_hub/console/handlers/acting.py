"""What handlers that change something do alike: run it off the event loop, then say what came of it.

A script or program gets JSON. A browser without scripts posts forms and gets a page that says the same.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from bancada_hub.console.errors import BadBodyError, HubAwayError, HubRefusedError
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.routes import Field
from bancada_hub.console.servers import Phase, phase_of
from bancada_hub.errors import Told, told
from bancada_hub.store.database import Store

Found = TypeVar("Found")

BEFORE = Field("before", "only rows before this one: the next page", int)
LONGEST_NUMBER = 18
"""Digits: more is no number of a row."""


class Acting(Handler):
    """Changes something in the database, through the domain, which asks the roles again and writes the audit."""

    @property
    def store(self) -> Store:
        """The site's database."""
        return self.context.launch.store

    async def do(self, function: Callable[..., Found], *arguments: object) -> Found:
        """Run a function of the domain in a thread."""
        return await asyncio.to_thread(function, *arguments)

    def row_number(self, name: str) -> int | None:
        """Return the number of a row that the query names, such as `before`; None when it names none.

        Raises:
            BadBodyError: It is no number.
        """
        text = self.get_query_argument(name, "")
        if text and not (text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER):
            raise BadBodyError(told("The field “%(name)s” must be a whole number.", name=name))
        return int(text) if text else None

    def say(self, back: str, *said: Told, password: str = "", **values: object) -> None:
        """Say what was done.

        Args:
            back: Where the page without scripts leads.
            said: Sentences.
            password: A new password, shown this once.
            values: More for programs.
        """
        message = " ".join(self.look.words.gettext(sentence) for sentence in said)
        if self.wants_json:
            self.send_json({"message": message, **({"password": password} if password else {}), **values})
        else:
            self.finish(self.page("said.html", message=message, password=password, back=back))

    async def stop_servers(self, person: str, slug: str = "") -> list[Told]:
        """Stop a person's servers of one project, or all of them; returns what to say of it."""
        try:
            servers = await self.context.hub.servers(person)
            running = [
                name
                for name, server in servers.items()
                if (not slug or name == slug) and phase_of(server) is not Phase.STOPPED
            ]
            for name in running:
                await self.context.hub.stop(person, name)
        except (HubAwayError, HubRefusedError):
            return [
                told(
                    "The hub did not answer, so what %(person)s has running there goes on for now.",
                    person=person,
                )
            ]
        return [told("%(person)s had %(slug)s running; it was stopped.", person=person, slug=name) for name in running]
