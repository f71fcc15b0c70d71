"""The server API's application: its routes, and what they share."""

import asyncio
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from jupyterhub.services.auth import HubOAuth
from tornado.web import Application, HTTPError, RequestHandler

from bancada.contract import (
    API_PATH,
    CONTRACT,
    CONTRACT_HEADER,
    LONGEST_WAIT_S,
    NOTICES_PATH,
    PROJECT_PATH,
    REPORT_PATH,
    STOP_PATH,
    ContractError,
    ProjectFacts,
    contract_problem,
    parse_activity,
)
from bancada_hub.console.errors import NotThereError, answer_for
from bancada_hub.console.hub import HubClient
from bancada_hub.console.server_api.identity import ServerIdentity, find_server, server_of_token, token_of
from bancada_hub.console.server_api.notices import NoticeWatch
from bancada_hub.console.server_api.refusals import BadContractError
from bancada_hub.console.server_api.reports import Reports
from bancada_hub.console.shared import Shared
from bancada_hub.errors import BancadaError, told, told_exactly
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.launch.facts import IMAGE
from bancada_hub.roles import Actor
from bancada_hub.store import catalog, leases, notices
from bancada_hub.store.database import Store
from bancada_hub.store.trace import DONE, REFUSED, Entry, audit
from bancada_hub.ui import language

RESTART = told("Stop the project and start it again.")
OTHER_RELEASE = told("This server and the site are of releases of Bancada that do not speak with each other.")
CARDS_RECENT_S = 600.0
"""Names of cards do not change."""
UPGRADE_REQUIRED, BAD_REQUEST = 426, 400
Shape = TypeVar("Shape")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerApi:
    """What the handlers share.

    Args:
        store: The database.
        hub: The hub's REST.
        sign_in: Asks the hub whose a token is.
        reports: What servers reported last.
        watch: Waits for notices.
        cards: The machine's.
    """

    store: Store
    hub: HubClient
    sign_in: HubOAuth
    reports: Reports
    watch: NoticeWatch
    cards: Shared[Inventory]


class ServerHandler(RequestHandler):
    """The root of all handlers: which server asks, and whether it speaks our contract."""

    server: ServerIdentity

    @property
    def api(self) -> ServerApi:
        """The server API."""
        api: ServerApi = self.settings["api"]
        return api

    def set_default_headers(self) -> None:
        """Say which contract this is; nothing here is for a browser."""
        self.set_header(CONTRACT_HEADER, str(CONTRACT))
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
        self.set_header("Cache-Control", "no-store")
        self.clear_header("Server")

    def check_xsrf_cookie(self) -> None:
        """Check nothing: no cookie is read here, so no page can make a browser ask in a person's name."""

    async def prepare(self) -> None:
        """Find out which server asks."""
        header = self.request.headers.get(CONTRACT_HEADER)
        problem = contract_problem(header)
        if problem:
            known = header is not None and header.isascii() and header.isdigit()
            raise BadContractError(
                told_exactly(problem, OTHER_RELEASE), status=UPGRADE_REQUIRED if known else BAD_REQUEST, fix=RESTART
            )
        token = token_of(self.request.headers.get("Authorization", ""))
        person, slug = await server_of_token(self.api.sign_in, token)
        self.server = await asyncio.to_thread(find_server, self.api.store, person, slug)

    def body(self, parse: Callable[[object], Shape]) -> Shape:
        """Return the request's body in its shape."""
        try:
            return parse(json.loads(self.request.body or b"null"))
        except ContractError as error:
            what = told("The body is not what was agreed on: %(why)s.", why=error)
            raise BadContractError(what, status=BAD_REQUEST) from error
        except ValueError as error:
            raise BadContractError(told("The body is not JSON."), status=BAD_REQUEST) from error

    def send(self, value: object, status: int = 200) -> None:
        """Answer with JSON."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(json.dumps(value, ensure_ascii=False))

    def write_error(self, status_code: int, **kwargs: Any) -> None:  # noqa: ANN401 - tornado's signature
        """Tell an error as {status, message, fix}, in the language that the server's pages are in."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        answer = answer_for(error, status_code)
        status = getattr(error, "status", answer.status) if isinstance(error, BancadaError) else answer.status
        said = language.words(language.choose("", self.request.headers.get("Accept-Language", "")))
        message, fix = (said.gettext(text) if text else "" for text in (answer.message, answer.fix))
        self.send({"status": status, "message": message, "fix": fix}, status)

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:  # noqa: ANN401 - tornado's signature
        """Log faults; an error of ours is an answer."""
        if not isinstance(value, BancadaError):
            super().log_exception(typ, value, tb)

    async def facts(self) -> dict[str, object]:
        """Return what the site knows of this server's project."""
        uuids = await asyncio.to_thread(cards_of, self.api.store, self.server)
        found = await self.api.cards.recent(CARDS_RECENT_S) if uuids else None
        names = {card.uuid: card.model or card.uuid for card in found.cards} if found else {}
        facts = await asyncio.to_thread(project_facts, self.api.store, self.server)
        return asdict(replace(facts, gpus=tuple(names.get(uuid, uuid) for uuid in uuids)))


class Project(ServerHandler):
    """GET project."""

    async def get(self) -> None:
        """Answer the project's facts."""
        self.send(await self.facts())


class Report(ServerHandler):
    """POST report."""

    async def post(self) -> None:
        """Take what runs in the server; answer the project's facts."""
        activity = self.body(parse_activity)
        self.api.reports.take(self.server.person, self.server.slug, activity)
        await asyncio.to_thread(renew, self.api.store, self.server, time.time())
        self.send(await self.facts())


class Notices(ServerHandler):
    """GET notices?wait_s=N."""

    async def get(self) -> None:
        """Answer what the person has not seen; held back for up to `wait_s` seconds while there is nothing."""
        try:
            wait_s = float(self.get_query_argument("wait_s", "0"))
        except ValueError as error:
            raise HTTPError(400, "wait_s is not a number") from error
        wait_s = min(max(wait_s, 0.0), LONGEST_WAIT_S)
        found = await self.api.watch.unseen(self.server.person_id, self.server.slug, wait_s)
        self.send({"notices": [asdict(notice) for notice in found]})


class Seen(ServerHandler):
    """POST notices/<id>/seen."""

    async def post(self, notice_id: str) -> None:
        """Record that a page of this person showed a notice."""
        if not await asyncio.to_thread(self._mark, int(notice_id)):
            raise NotThereError
        self.send({})

    def _mark(self, notice_id: int) -> bool:
        with self.api.store.write() as session:
            return notices.mark_notice_seen(session, self.server.person_id, notice_id)


class Stop(ServerHandler):
    """POST stop."""

    async def post(self) -> None:
        """Stop the server that asks, and no other."""
        # Answered first: the stop ends the server that asks, and with it the page's own request to it.
        self.send({}, 202)
        try:
            await self.api.hub.stop(self.server.person, self.server.slug)
        except BancadaError as error:
            log.warning("The server of %s in %s was not stopped: %s", self.server.person, self.server.slug, error)
            await self._record(REFUSED, why=error.what)
            return
        await self._record(DONE)

    async def _record(self, result: str, **detail: str) -> None:
        actor = Actor(self.server.person_id, self.server.person, admin=False, origin=str(self.request.remote_ip))
        entry = Entry(
            actor, "server.stop", f"project:{self.server.slug}", result, {**detail, "by": "the server itself"}
        )

        def write() -> None:
            with self.api.store.write() as session:
                audit(session, entry)

        await asyncio.to_thread(write)


class Unknown(ServerHandler):
    """Any other address."""

    async def prepare(self) -> None:
        """Say so, whoever asks."""
        raise NotThereError


def cards_of(store: Store, server: ServerIdentity) -> tuple[str, ...]:
    """Return the UUIDs of the cards that a server holds."""
    with store.read() as session:
        return leases.cards_held(session, (server.project.id, server.person_id))


def renew(store: Store, server: ServerIdentity, now_s: float) -> None:
    """Keep that a server which holds cards was heard of; nothing is written for one without."""
    if cards_of(store, server):
        with store.write() as session:
            leases.renew_leases(session, (server.project.id, server.person_id), now_s)


def project_facts(store: Store, server: ServerIdentity) -> ProjectFacts:
    """Return what the site knows of a server's project.

    Args:
        store: The database.
        server: Which server.
    """
    with store.read() as session:
        revision = catalog.published_revision(session, IMAGE)
    return ProjectFacts(
        project=server.slug,
        title=server.project.title,
        image=revision.image_title if revision else "",
        revision=revision.short if revision else "",
        signed_out_at=server.signed_out_at.isoformat() if server.signed_out_at else "",
    )


ROUTES = [
    (PROJECT_PATH, Project),
    (REPORT_PATH, Report),
    (NOTICES_PATH, Notices),
    (NOTICES_PATH + r"/([0-9]{1,18})/seen", Seen),
    (STOP_PATH, Stop),
]


def make_server_api(api: ServerApi) -> Application:
    """Return the application.

    Args:
        api: What its handlers share.
    """
    return Application([*((API_PATH + path, handler) for path, handler in ROUTES), (".*", Unknown)], api=api)
