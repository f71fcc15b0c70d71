"""Which server asks: the hub's word for a token, then the database's for whether its person is still in the project."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jupyterhub.services.auth import HubOAuth
from tornado.web import HTTPError

from bancada_hub.console.errors import HubAwayError
from bancada_hub.console.server_api.refusals import NoServerTokenError, NotInProjectError
from bancada_hub.store import people, projects
from bancada_hub.store.database import Store

SERVICE_SCOPE = "access:services!service=bancada"
_SERVER_SCOPE = re.compile(r"access:servers!server=(?P<person>[^/]+)/(?P<project>[^/]+)")
_HEADER = re.compile(r"(?:token|bearer) +(?P<token>[A-Za-z0-9._~+/=-]+)", re.IGNORECASE)


@dataclass(frozen=True)
class ServerIdentity:
    """One server.

    Args:
        person: The account name of the person whose server it is.
        person_id: Their row.
        slug: The project it works for.
        project: That project's row.
        signed_out_at: When the person's sessions were ended last; None for never.
    """

    person: str
    person_id: int
    slug: str
    project: projects.Project
    signed_out_at: datetime | None = None


def token_of(header: str) -> str:
    """Return the token of an Authorization header.

    Raises:
        NoServerTokenError: There is none.
    """
    found = _HEADER.fullmatch(header.strip())
    if found is None:
        raise NoServerTokenError
    return found["token"]


async def server_of_token(sign_in: HubOAuth, token: str) -> tuple[str, str]:
    """Return the person and the project of the server that a token belongs to.

    Args:
        sign_in: The hub's sign-in for the console; it remembers the hub's word for a minute.
        token: The token.

    Raises:
        NoServerTokenError: It is nobody's, or not a server's own.
        HubAwayError: The hub does not answer.
    """
    try:
        model = await sign_in.user_for_token(token, sync=False)
    except HTTPError as error:
        raise HubAwayError from error
    return _server(model)


def _server(model: dict[str, Any] | None) -> tuple[str, str]:
    scopes: list[str] = (model or {}).get("scopes", [])
    servers = [found for scope in scopes if (found := _SERVER_SCOPE.fullmatch(scope))]
    # A person's own token opens all their servers, and names none: only a server's own names exactly one.
    if model is None or SERVICE_SCOPE not in scopes or len(servers) != 1 or servers[0]["person"] != model.get("name"):
        raise NoServerTokenError
    return servers[0]["person"], servers[0]["project"]


def find_server(store: Store, person_name: str, slug: str) -> ServerIdentity:
    """Return the server, if its person may still work in its project.

    Raises:
        NotInProjectError: The account is off, or not in the project any more.
    """
    with store.read() as session:
        person, project = people.find_person(session, person_name), projects.find_project(session, slug)
        if person is None or person.disabled or project is None:
            raise NotInProjectError
        if not projects.is_member(session, project.id, person.id):
            raise NotInProjectError
    return ServerIdentity(person.name, person.id, slug, project, person.signed_out_at)
