"""What a page of JupyterLab asks of its server: one WebSocket that only the server speaks on, and a stop."""

from collections.abc import Awaitable
from typing import Any

from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from tornado.web import HTTPError, authenticated
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from bancada.server.site_client import SiteAway, SiteRefused
from bancada.server.site_link import SiteLink

LINK = "bancada_link"
LARGEST_MESSAGE_BYTES = 1024
BAD_GATEWAY = 502
CONFLICT = 409


class Events(JupyterHandler, WebSocketHandler):
    """Tells a page how the server stands, and what the site tells this person.

    There are no pings, and what a page might send is not read: an open page alone is nobody's activity, and must not
    keep an idle server alive.
    """

    _track_activity = False

    @property
    def link(self) -> SiteLink:
        """The link with the site."""
        link: SiteLink = self.settings[LINK]
        return link

    @property
    def max_message_size(self) -> int:
        """A page has nothing to say."""
        return LARGEST_MESSAGE_BYTES

    async def prepare(  # type: ignore[override]  # Jupyter's own differs from tornado's in the same way
        self, *, _redirect_to_login: bool = False
    ) -> Awaitable[None] | None:
        """Refuse strangers with 403; a redirect to a login page means nothing to a WebSocket."""
        return await super().prepare(_redirect_to_login=False)

    @ws_authenticated
    async def get(self, *args: str, **kwargs: str) -> None:
        """Open the WebSocket."""
        await WebSocketHandler.get(self, *args, **kwargs)

    def open(self, *_args: str, **_kwargs: str) -> None:
        """Keep the page informed."""
        self.link.add_page(self)

    def on_message(self, message: str | bytes) -> None:
        """Read nothing."""

    def on_close(self) -> None:
        """Forget the page."""
        self.link.remove_page(self)

    def tell(self, message: str) -> bool:
        """Send a message; returns whether the page was still there."""
        try:
            self.write_message(message)
        except WebSocketClosedError:
            return False
        return True


class Stop(APIHandler):
    """POST bancada/stop: the site stops this server."""

    @authenticated
    async def post(self) -> None:
        """Ask the site."""
        link: SiteLink = self.settings[LINK]
        try:
            await link.stop_server()
        except SiteRefused as refusal:
            raise HTTPError(CONFLICT, str(refusal), reason="Refused") from refusal
        except SiteAway as away:
            raise HTTPError(BAD_GATEWAY, "Bancada does not answer. Try again in a minute.") from away
        self.set_status(202)
        self.finish({})


def routes(base_url: str) -> list[tuple[str, Any]]:
    """Return the routes.

    Args:
        base_url: Where the server is.
    """
    return [(f"{base_url}bancada/events", Events), (f"{base_url}bancada/stop", Stop)]
