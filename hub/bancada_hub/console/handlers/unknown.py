"""Any other address: 404 in the skin, without asking who wants to know."""

from bancada_hub.console.errors import NotThereError
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.routes import Route


class Unknown(Handler):
    """Nothing is here."""

    async def prepare(self) -> None:
        """Say so, whatever the method."""
        raise NotThereError


ANYTHING_ELSE = Route("", Unknown)
"""Not in the table of routes: it stands behind all of them."""
