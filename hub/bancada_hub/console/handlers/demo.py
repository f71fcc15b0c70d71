"""The page *What was real?* of a demo; other sites have none."""

from bancada_hub.console.access import Who
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.routes import Route, Rule
from bancada_hub.demo.scenes import SCENES


class WhatWasReal(Handler):
    """GET demo."""

    def get(self) -> None:
        """Show each scene: what to do, what it claims, how much of it is real here, what proves it."""
        self.finish(self.page("demo.html", scenes=SCENES))


ROUTES = (Route("demo", WhatWasReal, {"GET": Rule(Who.PERSON, "What was real in this demo.")}),)
"""Of a demo alone: not among the routes that every site has."""
