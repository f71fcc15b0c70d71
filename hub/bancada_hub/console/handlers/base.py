"""What all handlers do alike: who asks, in which language, from a fresh page; and how an error is told."""

import json
import logging
from typing import Any, ClassVar

from jupyterhub.services.auth import HubOAuth, HubOAuthenticated, UserNotAllowed
from tornado.web import HTTPError, RequestHandler

from bancada_hub.console.context import Context
from bancada_hub.console.errors import (
    HubAwayError,
    NoAccountError,
    NotSignedInError,
    StalePageError,
    WeakTokenError,
    answer_for,
)
from bancada_hub.errors import BancadaError
from bancada_hub.ui.skin import TABS_COOKIE, Look, look_of

PREFIX = "/services/bancada/"

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

log = logging.getLogger(__name__)


class Handler(HubOAuthenticated, RequestHandler):
    """The root of all handlers.

    `public` handlers answer anybody; all others only people who are signed in at the hub.
    """

    public: ClassVar[bool] = False
    json_only: ClassVar[bool] = False
    _signed_in: dict[str, Any] | None = None

    @property
    def context(self) -> Context:
        """The console."""
        context: Context = self.settings["context"]
        return context

    @property
    def hub_auth(self) -> HubOAuth:
        """The hub's sign-in."""
        return self.context.sign_in

    @property
    def hub_scopes(self) -> set[str]:
        """The scopes of which a person needs one to use this service."""
        scopes: set[str] = self.hub_auth.access_scopes
        return scopes

    @property
    def look(self) -> Look:
        """How this request wants its page."""
        return look_of(self.request)

    @property
    def person_name(self) -> str:
        """The account name of the one who asks."""
        if self._signed_in is None:
            raise NotSignedInError
        return str(self._signed_in["name"])

    @property
    def wants_json(self) -> bool:
        """Whether the answer goes to a program or a script, not to a browser's window."""
        return self.json_only or "text/html" not in self.request.headers.get("Accept", "")

    def set_default_headers(self) -> None:
        """Set the headers that keep pages from being framed, sniffed, or running anything but our own scripts."""
        for name, value in SECURITY_HEADERS.items():
            self.set_header(name, value)
        self.clear_header("Server")

    def get_current_user(self) -> dict[str, Any] | None:
        """Return who signed in; `prepare` found out. The base class would ask the hub and block meanwhile."""
        return self._signed_in

    async def prepare(self) -> None:
        """Find out who asks, unless anybody may."""
        if self.public:
            return
        if "Authorization" not in self.request.headers:
            self._refuse_stale_page()
        self._signed_in = await self._identify()
        if self._signed_in is None:
            if self.request.method == "GET" and not self.wants_json:
                self.redirect(self.get_login_url())
                return
            raise NotSignedInError
        if self.request.method != "GET":
            self._refuse_weak_token(self._signed_in)

    def page(self, template: str, **values: object) -> str:
        """Return a page or a part of one."""
        words = self.look.words
        return self.context.environment.get_template(template).render(
            look=values.pop("look", self.look),
            words=words,
            _=words.gettext,
            ngettext=words.ngettext,
            static=self.static_url,
            person=values.pop("person", ""),
            tab=values.pop("tab", ""),
            xsrf=self.xsrf_token.decode(),
            **values,
        )

    def show_tabs(self, *, admin: bool) -> Look:
        """Return the look of a page for this person, and let the hub's pages show the same tabs."""
        self.set_cookie(TABS_COOKIE, "site" if admin else "", path="/", samesite="Lax")
        look = self.look
        return Look(look.words, look.theme, look.contrast, admin)

    def send_json(self, value: object, status: int = 200) -> None:
        """Answer with JSON."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(json.dumps(value, ensure_ascii=False))

    def write_error(self, status_code: int, **kwargs: Any) -> None:  # noqa: ANN401 - tornado's signature
        """Tell an error: in the skin to a person, as {status, message, fix} to a program."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        answer = answer_for(error, status_code)
        self.set_status(answer.status)
        words = self.look.words
        message = words.gettext(answer.message)
        fix = words.gettext(answer.fix) if answer.fix else ""
        if self.wants_json:
            self.send_json({"status": answer.status, "message": message, "fix": fix}, answer.status)
            return
        title = words.gettext(answer.title or "This did not work")
        person = self._signed_in["name"] if self._signed_in else ""
        again = isinstance(error, HubAwayError)
        self.finish(self.page("error.html", title=title, message=message, fix=fix, again=again, person=person))

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:  # noqa: ANN401 - tornado's signature
        """Log what is not meant for a person; an error of ours is an answer, not a fault."""
        if not isinstance(value, BancadaError):
            super().log_exception(typ, value, tb)

    def _refuse_stale_page(self) -> None:
        try:
            self.check_xsrf_cookie()
        except HTTPError as error:
            raise StalePageError from error

    def _refuse_weak_token(self, model: dict[str, Any]) -> None:
        # A server's own token opens this service too, but code in a notebook is not the person: what is sent in a
        # header must itself be good for acting on the person's servers. A browser's session has a cookie.
        if getattr(self, "_token_authenticated", False) and f"servers!user={model['name']}" not in model["scopes"]:
            raise WeakTokenError

    async def _identify(self) -> dict[str, Any] | None:
        try:
            model = await self.hub_auth.get_user(self, sync=False)
            return self.check_hub_user(model) if model else None
        except UserNotAllowed:
            raise NoAccountError from None
        except HTTPError as error:
            log.warning("The hub could not say who asks: %s", error.log_message)
            raise HubAwayError from error
