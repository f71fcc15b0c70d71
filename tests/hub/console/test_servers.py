"""A server's state and the hub's words, computed without a hub."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, HTTPError, RequestHandler

from bancada_hub.console.errors import HubRefusedError, NotThereError, answer_for
from bancada_hub.console.hub import STOPPED, HubClient, HubServer, plain
from bancada_hub.console.servers import Phase, ServerView, colour, describe, phase_of, view
from bancada_hub.errors import LaunchRefused, StoreError
from bancada_hub.ui.language import words

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def server(pending: str = "", *, ready: bool = False, kind: str = "work") -> HubServer:
    return HubServer(pending, ready, kind, NOW - timedelta(seconds=75), "/user/ana/optics/")


@pytest.mark.parametrize(
    ("found", "phase", "kind", "word"),
    [
        (None, Phase.STOPPED, "idle", "Not running"),
        (server(), Phase.STOPPED, "idle", "Not running"),
        (server("spawn"), Phase.STARTING, "work", "Starting"),
        (server(ready=True), Phase.RUNNING, "good", "Running"),
        (server("check"), Phase.RUNNING, "good", "Running"),
        (server(ready=True, kind="rescue"), Phase.RUNNING, "warn", "Running in safe mode"),
        (server("stop"), Phase.STOPPING, "work", "Stopping"),
    ],
)
def test_every_state_has_a_colour_and_a_word(found: HubServer | None, phase: Phase, kind: str, word: str) -> None:
    shown = view(found, NOW)
    assert phase_of(found) is phase
    assert (colour(shown), describe(shown, words("en"))) == (kind, word)
    assert describe(shown, words("pt_BR")) != word


def test_unknown_is_never_green() -> None:
    shown = ServerView(Phase.UNKNOWN)
    assert (colour(shown), describe(shown, words("en"))) == ("unknown", "Unknown: the hub is restarting")


def test_only_what_runs_can_be_opened() -> None:
    assert view(server(ready=True), NOW).url == "/user/ana/optics/"
    assert view(server("spawn"), NOW).url == ""
    assert view(server("spawn"), NOW).seconds == 75


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Spawn failed: The disk is full.", "The disk is full."),
        (
            "Spawn failed: HTTP 409: Conflict (There is no project “x”. Ask its lead.)",
            "There is no project “x”. Ask its lead.",
        ),
        (
            "Spawn failed: HTTP 500: Internal Server Error (It ended (status 1) at once.)",
            "It ended (status 1) at once.",
        ),
        ("Spawn failed", ""),
        ("Spawn failed: ", ""),
        ("Waiting for JupyterLab", "Waiting for JupyterLab"),
    ],
)
def test_the_hubs_wrapping_is_taken_off(message: str, expected: str) -> None:
    assert plain(message) == expected


def test_errors_become_answers() -> None:
    refused = LaunchRefused("The image is missing.", fix="Ask an administrator.", reason="image-missing")
    assert (answer_for(refused, 500).status, answer_for(refused, 500).fix) == (409, "Ask an administrator.")
    assert answer_for(HubRefusedError(429, "Too many starts."), 500).message == "Too many starts."
    assert answer_for(NotThereError(), 500).status == 404
    assert answer_for(HTTPError(405), 405).message == "This address does not do that."
    assert answer_for(HTTPError(404), 404) == answer_for(NotThereError(), 500)


def test_what_only_the_machine_should_know_stays_there() -> None:
    store = answer_for(StoreError("The database postgresql://x@db is down."), 500)
    assert (store.status, store.message) == (503, "The site's database does not answer.")
    fault = answer_for(ZeroDivisionError("secret"), 500)
    assert (fault.status, fault.message) == (500, "The console could not answer this request.")


class InterruptedStart(RequestHandler):
    """What JupyterHub 6.1 was seen to answer when a start is stopped before its first step (random crashes, 84)."""

    begun, stopped = asyncio.Event(), asyncio.Event()

    async def post(self) -> None:
        self.begun.set()
        await self.stopped.wait()
        raise HTTPError(500)

    async def delete(self) -> None:
        self.stopped.set()
        self.set_status(204)


async def test_a_start_that_is_stopped_before_it_has_begun_is_told_as_stopped() -> None:
    socket, port = bind_unused_port()
    server = HTTPServer(Application([(r"/users/ana/servers/optics", InterruptedStart)]))
    server.add_socket(socket)
    hub = HubClient(f"http://127.0.0.1:{port}", "token")
    try:
        start = asyncio.create_task(hub.start("ana", "optics", {}))
        await InterruptedStart.begun.wait()
        await hub.stop("ana", "optics")
        with pytest.raises(HubRefusedError) as refused:
            await start
        assert (refused.value.status, refused.value.what) == (409, STOPPED)
        with pytest.raises(HubRefusedError) as again:  # nobody stopped this one
            await hub.start("ana", "optics", {})
        assert again.value.status == 500
    finally:
        hub.close()
        server.stop()
