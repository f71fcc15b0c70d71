"""Signing in at the hub: the last step, in which the hub sends the person back."""

from jupyterhub.services.auth import HubOAuthCallbackHandler
from tornado.web import HTTPError

from bancada_hub.console.access import Who
from bancada_hub.console.errors import HubAwayError, NotNowError, later
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.routes import Route, Rule
from bancada_hub.errors import BancadaError


class SignedIn(Handler, HubOAuthCallbackHandler):
    """Takes the hub's word for who it is."""

    async def get(self) -> None:
        """Finish signing in, and go where the person wanted to."""
        try:
            await HubOAuthCallbackHandler.get(self)
        except HTTPError as error:
            raise _in_words(error) from error


def _in_words(error: HTTPError) -> BancadaError:
    if error.status_code >= 500:
        return HubAwayError()
    return NotNowError(
        later("Signing in was not finished: it took too long, or the console restarted meanwhile."),
        fix=later("Go to Work and sign in again."),
    )


ROUTES = [
    Route("oauth_callback", SignedIn, {"GET": Rule(Who.ANYBODY, "The last step of signing in at the hub.")}),
]
