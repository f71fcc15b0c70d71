"""How a server speaks to its site: the server API of the console, with the server's own token."""

import json
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlencode

from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from bancada.contract import (
    CONTRACT,
    CONTRACT_HEADER,
    LONGEST_WAIT_S,
    NOTICES_PATH,
    REPORT_PATH,
    STOP_PATH,
    Activity,
    ContractError,
    ProjectFacts,
    SiteNotice,
    parse_facts,
    parse_notices,
)

CONNECT_TIMEOUT_S = 5.0
REQUEST_TIMEOUT_S = 40.0
"""Stopping waits for the hub; a notice is waited for up to LONGEST_WAIT_S."""


Shape = TypeVar("Shape")


class SiteAway(Exception):  # noqa: N818 - a state of the site, told as such
    """The site does not answer; it restarts within seconds."""


class SiteRefused(Exception):  # noqa: N818 - the same
    """The site answered that it will not, in words for the person."""


class SiteClient:
    """Speaks with one site.

    Args:
        address: The server API, such as http://10.89.0.1:8004/api/v1.
        token: The server's own token.
        language: In which the site says why it refuses something.
    """

    def __init__(self, address: str, token: str, language: str = "") -> None:
        self._address = address.rstrip("/")
        self._headers = {
            "Authorization": f"token {token}",
            CONTRACT_HEADER: str(CONTRACT),
            "Accept-Language": language or "en",
        }
        # An own client: one that waits for notices must not keep Jupyter's own requests waiting.
        self._http = SimpleAsyncHTTPClient(force_instance=True, max_clients=8)

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    async def report(self, activity: Activity) -> ProjectFacts:
        """Tell what runs here; returns what the site knows of the project."""
        return _parsed(parse_facts, await self._fetch("POST", REPORT_PATH, activity.json()))

    async def notices(self) -> tuple[SiteNotice, ...]:
        """Return what the person has not seen yet; waits while there is nothing."""
        query = urlencode({"wait_s": LONGEST_WAIT_S})
        return _parsed(parse_notices, await self._fetch("GET", f"{NOTICES_PATH}?{query}"))

    async def seen(self, notice_id: int) -> None:
        """Tell that a page showed a notice."""
        await self._fetch("POST", f"{NOTICES_PATH}/{notice_id}/seen", {})

    async def stop(self) -> None:
        """Ask the site to stop this server."""
        await self._fetch("POST", STOP_PATH, {})

    async def _fetch(self, method: str, path: str, body: object = None) -> object:
        request = HTTPRequest(
            self._address + path,
            method=method,
            headers=self._headers,
            body=None if body is None else json.dumps(body),
            connect_timeout=CONNECT_TIMEOUT_S,
            request_timeout=REQUEST_TIMEOUT_S,
            follow_redirects=False,
        )
        try:
            response = await self._http.fetch(request)
            return json.loads(response.body or b"null")
        except HTTPClientError as error:
            raise _told(error) from error
        except (OSError, ValueError) as error:
            raise SiteAway(str(error)) from error


def _parsed(parse: Callable[[object], Shape], value: object) -> Shape:
    try:
        return parse(value)
    except ContractError as error:
        raise SiteAway(str(error)) from error


def _told(error: HTTPClientError) -> SiteAway | SiteRefused:
    """Return what an answer other than 200 means: a refusal has words, all else is a site that is not there."""
    if error.code >= 500 or error.response is None:
        return SiteAway(str(error))
    try:
        answer = json.loads(error.response.body)
        return SiteRefused(" ".join(part for part in (str(answer["message"]), str(answer["fix"])) if part))
    except (ValueError, KeyError, TypeError):
        return SiteAway(str(error))
