"""GET api/openapi.json: what the REST offers, for programs and the people who write them."""

import bancada
from bancada_hub.console.access import Who
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.openapi import document
from bancada_hub.console.routes import Route, Rule


class Description(Handler):
    """The same for everybody: it describes what there is, not what this person may do."""

    json_only = True

    async def get(self) -> None:
        """Answer the document."""
        self.send_json(document(self.settings["routes"], bancada.__version__))


ROUTES = [
    Route(
        "api/openapi.json",
        Description,
        {"GET": Rule(Who.PERSON, "This description, in OpenAPI 3.1.", answer="OpenApi")},
    )
]
