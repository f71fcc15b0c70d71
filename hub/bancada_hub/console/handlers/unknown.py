"""Any other address: 404 in the skin, without asking who wants to know."""

from bancada_hub.console.errors import NotThereError
from bancada_hub.console.handlers.base import Handler


class Unknown(Handler):
    """Nothing is here."""

    public = True

    async def prepare(self) -> None:
        """Say so, whatever the method."""
        raise NotThereError


ROUTES = [(".*", Unknown)]
