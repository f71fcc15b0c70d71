"""What all handlers do alike: who asks, whether they may, from a fresh page, and in which language."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from jupyterhub.services.auth import HubOAuth, HubOAuthenticated, UserNotAllowed
from tornado.web import HTTPError, RequestHandler

from bancada_hub.console.access import Who, leads_something, may_call
from bancada_hub.console.asker import Asker, find_asker
from bancada_hub.console.context import Context
from bancada_hub.console.errors import (
    HubAwayError,
    NoAccountError,
    NotSignedInError,
    NotThereError,
    PasswordFirstError,
    StalePageError,
    WeakTokenError,
    answer_for,
)
from bancada_hub.console.routes import PREFIX, READING, Route, Rule, read_body
from bancada_hub.errors import BancadaError
from bancada_hub.roles import Actor
from bancada_hub.store.trace import DONE, REFUSED, Entry, audit
from bancada_hub.ui import language
from bancada_hub.ui.skin import TABS_COOKIE, THEME_COOKIE, Look, look_of, tabs_value

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
    """The root of all handlers: nothing is answered but what its route declares, to whom it declares."""

    json_only = False
    _signed_in: dict[str, Any] | None = None
    _asker: Asker | None = None

    def initialize(self, route: Route) -> None:
        """Take the declaration that this handler answers for."""
        self.route = route
        self.body: dict[str, Any] = {}

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
        """How this request wants its page: what the person chose in their profile goes before this browser's choice."""
        look = look_of(self.request)
        if self._asker is None:
            return look
        person, standing = self._asker.person, self._asker.standing
        return replace(
            look,
            words=language.words(person.language.replace("-", "_")) if person.language else look.words,
            theme=person.theme or look.theme,
            admin=standing.admin,
            lead=leads_something(standing),
        )

    @property
    def asker(self) -> Asker:
        """Who asks, as the database has it at this request."""
        if self._asker is None:
            raise NotSignedInError
        return self._asker

    @property
    def person_name(self) -> str:
        """The account name of the one who asks."""
        return self.asker.person.name

    @property
    def actor(self) -> Actor:
        """The one who asks, as the audit names them."""
        person = self.asker.person
        return Actor(person.id, person.name, person.admin, origin=self.request.remote_ip or "")

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
        """Find out who asks and whether they may, and read what they sent; anything else is refused here."""
        method = self.request.method or ""
        rule = self.route.rules.get(method)
        if rule is None:
            raise HTTPError(405)
        if rule.who is Who.ANYBODY:
            return
        if "Authorization" not in self.request.headers:
            self._refuse_stale_page()
        await self._find_out_who()
        if self._signed_in is None:
            if method == "GET" and not self.wants_json:
                self.redirect(self.get_login_url())
                return
            raise NotSignedInError
        self._let_in(rule, self.asker, self._signed_in)

    async def _find_out_who(self) -> None:
        names = dict(zip(self.route.names, self.path_args, strict=True))
        store = self.context.launch.store
        while (model := await self._identify()) is not None:
            self._asker = await asyncio.to_thread(find_asker, store, str(model["name"]), names)
            if not self.context.vouched.outdated(self._asker.person):
                break
            self._asker = None
            del self._cached_hub_user  # the hub's answer to this request: it is asked anew
        self._signed_in = model

    def _let_in(self, rule: Rule, asker: Asker, model: dict[str, Any]) -> None:
        if asker.nowhere or not may_call(rule.who, asker.standing, asker.subject):
            raise NotThereError
        reading = self.request.method in READING
        if not reading:
            self._refuse_weak_token(model)
        if self._first_password_stays(rule):
            return
        if not reading:
            self.body = read_body(self.request, rule.body)
        elif not self.wants_json:
            self._let_hub_pages_look_alike()

    @asynccontextmanager
    async def recorded(self, subject: str, **detail: str) -> AsyncIterator[None]:
        """Put on record what the block does, or that it was refused; for what is done outside the database.

        What is changed in the database is recorded there, in the same transaction.
        """
        action = self.route.rules[self.request.method or ""].audit
        try:
            yield
        except BancadaError as error:
            await self._record(Entry(self.actor, action, subject, REFUSED, {**detail, "why": error.what}))
            raise
        await self._record(Entry(self.actor, action, subject, DONE, dict(detail)))

    async def _record(self, entry: Entry) -> None:
        def write() -> None:
            with self.context.launch.store.write() as session:
                audit(session, entry)

        await asyncio.to_thread(write)

    def _first_password_stays(self, rule: Rule) -> bool:
        if rule.with_first_password or not self.asker.person.must_change_password:
            return False
        if self.request.method == "GET" and not self.wants_json:
            self.redirect(PREFIX + "profile")
            return True
        raise PasswordFirstError

    def _let_hub_pages_look_alike(self) -> None:
        look, secure = self.look, bool(self.context.launch.site.tls_certificate)
        wanted = {TABS_COOKIE: tabs_value(look)}
        if self.asker.person.language:
            wanted[language.COOKIE] = look.words.language
        if self.asker.person.theme:
            wanted[THEME_COOKIE] = look.theme
        for name, value in wanted.items():
            if self.get_cookie(name, "") != value:
                self.set_cookie(name, value, path="/", samesite="Lax", secure=secure, expires_days=365)

    def page(self, template: str, **values: object) -> str:
        """Return a page or a part of one."""
        look = self.look
        return self.context.environment.get_template(template).render(
            look=look,
            words=look.words,
            _=look.words.gettext,
            ngettext=look.words.ngettext,
            static=self.static_url,
            person=self._asker.person.name if self._asker else "",
            tab=values.pop("tab", ""),
            project_query=values.pop("project_query", ""),
            xsrf=self.xsrf_token.decode(),
            keep=self.xsrf_token.decode() if self._asker else "",
            notices=self._asker.notices if self._asker else (),
            now=datetime.now(UTC),
            **values,
        )

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
        again = isinstance(error, HubAwayError)
        self.finish(self.page("error.html", title=title, message=message, fix=fix, again=again))

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:  # noqa: ANN401 - tornado's signature
        """Log what is not meant for a person; an error of ours is an answer, not a fault."""
        if not isinstance(value, BancadaError):
            super().log_exception(typ, value, tb)

    def _refuse_stale_page(self) -> None:
        try:
            self.check_xsrf_cookie()
        except HTTPError as error:
            raise StalePageError from error

    def _is_servers_token(self, model: dict[str, Any]) -> bool:
        # A server's own token opens this service for the server API, which listens elsewhere. Code in a notebook is
        # not the person: here it is nobody, or a lead's notebook could read all that the lead may.
        by_token = getattr(self, "_token_authenticated", False)
        return by_token and any(scope.startswith("access:servers!server=") for scope in model["scopes"])

    def _refuse_weak_token(self, model: dict[str, Any]) -> None:
        # What is sent in a header must itself be good for acting on the person's servers. A browser's session has a
        # cookie.
        if getattr(self, "_token_authenticated", False) and f"servers!user={model['name']}" not in model["scopes"]:
            raise WeakTokenError

    async def _identify(self) -> dict[str, Any] | None:
        try:
            model = await self.hub_auth.get_user(self, sync=False)
            is_person = model is not None and not self._is_servers_token(model)
            checked: dict[str, Any] | None = self.check_hub_user(model) if is_person else None
        except UserNotAllowed:
            raise NoAccountError from None
        except HTTPError as error:
            log.warning("The hub could not say who asks: %s", error.log_message)
            raise HubAwayError from error
        return checked
