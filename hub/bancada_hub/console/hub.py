"""The hub's REST as the console uses it: states of servers, start, stop, and the stream of a start's progress."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from tornado.httpclient import HTTPClientError, HTTPRequest, HTTPResponse
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from bancada_hub.console.errors import HubAwayError, HubRefusedError, later

CONNECT_TIMEOUT_S = 3.0
REQUEST_TIMEOUT_S = 30.0
"""A start answers after the hub's slow_spawn_timeout (10 s) at the latest, a stop soon after."""

STOP_TRIES, STOP_AGAIN_S = 5, 0.3
STOPPED = later("The start was stopped before it had begun.")
STREAM_TIMEOUT_S = 600.0
MOST_CONNECTIONS = 256
"""Each start that is being followed keeps one."""

_BARE_FAILURE = "Spawn failed"
_INNER_MESSAGE = re.compile(r"HTTP \d{3}: [^(]*\((?P<message>.*)\)", re.DOTALL)


@dataclass(frozen=True)
class HubServer:
    """A server as the hub sees it.

    Args:
        pending: "spawn", "stop" or another change under way; empty when there is none.
        ready: Whether it answers.
        kind: What it was started as: "work" or "rescue".
        started_at: When it was started; None when it is stopped.
        url: Its path behind the proxy.
    """

    pending: str
    ready: bool
    kind: str
    started_at: datetime | None
    url: str


@dataclass(frozen=True)
class StartEvent:
    """One event of a start."""

    message: str
    failed: bool
    ready: bool


class HubClient:
    """Speaks to one hub with the console's token.

    Args:
        api_url: The hub's REST, such as http://127.0.0.1:8003/hub/api.
        token: The console's own token.
    """

    def __init__(self, api_url: str, token: str) -> None:
        self._api_url = api_url.rstrip("/")
        self._headers = {"Authorization": f"token {token}"}
        self._stopping: dict[str, asyncio.Task[None]] = {}
        self._stops: Counter[str] = Counter()
        self._client = SimpleAsyncHTTPClient(force_instance=True, max_clients=MOST_CONNECTIONS)

    async def servers(self, person: str) -> dict[str, HubServer]:
        """Return a person's servers by name, stopped ones too; none for one whom the hub never saw."""
        response = await self._fetch(
            "GET", f"/users/{quote(person, safe='')}?include_stopped_servers=1", missing_ok=True
        )
        if response.code == 404:
            return {}
        model = json.loads(response.body)
        return {name: _server(server) for name, server in model.get("servers", {}).items() if name}

    async def start(self, person: str, slug: str, options: dict[str, str]) -> None:
        """Start a server; returns once it runs, or after 10 s while it still starts."""
        path = _server_path(person, slug)
        stops = self._stops[path]
        try:
            # Options are always sent: without them the hub would use those of the last start, also refused ones.
            await self._fetch("POST", path, json.dumps({"user_options": options}))
        except HubRefusedError as error:
            # The hub has no answer but an internal error for a start that is stopped before it has begun.
            if error.status == 500 and (path in self._stopping or self._stops[path] != stops):
                raise HubRefusedError(409, STOPPED) from error
            raise

    async def stop(self, person: str, slug: str) -> None:
        """Stop a server, or cancel its start; nothing changes for one that does not run.

        Who asks again before the hub has answered waits for the same stop: the hub knows no answer but an internal
        error for a second one at that instant.
        """
        path = _server_path(person, slug)
        task = self._stopping.get(path)
        self._stops[path] += 1
        if task is None:
            task = self._stopping[path] = asyncio.create_task(self._stop(path))
            task.add_done_callback(lambda _: self._stopping.pop(path, None))
        await asyncio.shield(task)

    async def _stop(self, path: str) -> None:
        for left in range(STOP_TRIES - 1, -1, -1):
            try:
                await self._fetch("DELETE", path, missing_ok=True)
            except HubRefusedError as error:
                if error.status != 500 or not left:
                    raise
                await asyncio.sleep(STOP_AGAIN_S)  # the hub fails so on a start that it has only just taken
            else:
                return

    async def events(self, person: str, slug: str) -> AsyncIterator[StartEvent]:
        """Yield what a start tells, until it is over; one event of failure for a start that failed earlier."""
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        partial = bytearray()

        def take(chunk: bytes) -> None:
            partial.extend(chunk)
            *whole, rest = bytes(partial).split(b"\n")
            partial[:] = rest
            for line in whole:
                lines.put_nowait(line.decode(errors="replace"))

        path = f"{_server_path(person, slug)}/progress"
        fetched = asyncio.ensure_future(self._fetch("GET", path, stream=take, missing_ok=True))
        fetched.add_done_callback(lambda _: lines.put_nowait(None))
        try:
            while (line := await lines.get()) is not None:
                if line.startswith("data:"):
                    yield _event(json.loads(line.removeprefix("data:")))
        finally:
            fetched.cancel()
            await asyncio.gather(fetched, return_exceptions=True)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    async def _fetch(
        self,
        method: str,
        path: str,
        body: str | None = None,
        *,
        stream: Callable[[bytes], None] | None = None,
        missing_ok: bool = False,
    ) -> HTTPResponse:
        request = HTTPRequest(
            self._api_url + path,
            method=method,
            headers=self._headers,
            body=body,
            allow_nonstandard_methods=True,
            connect_timeout=CONNECT_TIMEOUT_S,
            request_timeout=STREAM_TIMEOUT_S if stream else REQUEST_TIMEOUT_S,
            streaming_callback=stream,
            follow_redirects=False,
        )
        try:
            return await self._client.fetch(request)
        except HTTPClientError as error:
            if missing_ok and error.code == 404 and error.response is not None:
                return error.response
            raise _refusal(error) from error
        except OSError as error:
            raise HubAwayError from error


def plain(message: str) -> str:
    """Return a hub's message without the wrapping that its exceptions put around the words."""
    text = message.removeprefix(_BARE_FAILURE).removeprefix(":").strip()
    wrapped = _INNER_MESSAGE.fullmatch(text)
    return wrapped["message"] if wrapped else text


def _refusal(error: HTTPClientError) -> HubAwayError | HubRefusedError:
    body = error.response.body if error.response is not None else b""
    try:
        message = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        message = ""
    # 403: the hub answers so to valid tokens while its database is down; 599: no answer in time.
    if error.code in {403, 502, 503, 504, 599} and not (error.code == 503 and message):
        return HubAwayError()
    return HubRefusedError(error.code, plain(str(message)) or str(error))


def _server_path(person: str, slug: str) -> str:
    return f"/users/{quote(person, safe='')}/servers/{quote(slug, safe='')}"


def _server(model: dict[str, Any]) -> HubServer:
    started = model.get("started")
    options = model.get("user_options") or {}
    return HubServer(
        pending=model.get("pending") or "",
        ready=bool(model.get("ready")),
        kind=str(options.get("kind", "work")),
        started_at=datetime.fromisoformat(started) if started else None,
        url=model.get("url") or "",
    )


def _event(event: dict[str, Any]) -> StartEvent:
    return StartEvent(plain(str(event.get("message", ""))), bool(event.get("failed")), bool(event.get("ready")))
