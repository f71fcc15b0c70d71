"""A person who was signed out everywhere: what their browsers have open at a server ends, and nothing is remembered."""

import asyncio
from types import SimpleNamespace
from typing import cast

from jupyter_server.serverapp import ServerApp
from jupyterhub.services.auth import HubOAuth
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application
from tornado.websocket import WebSocketHandler, websocket_connect

from bancada.server.sessions import POLICY_VIOLATION, end_sessions


class Channel(WebSocketHandler):
    async def open(self) -> None:
        await self.write_message("in")


async def test_open_connections_end_and_the_hub_is_asked_again() -> None:
    """Whatever holds the connection, a kernel, a terminal or an extension, and however many there are."""
    socket, port = bind_unused_port()
    server = HTTPServer(Application([("/channel", Channel)]))
    server.add_socket(socket)
    hub_auth = HubOAuth(api_token="a-token", hub_prefix="/hub/", base_url="/user/ana/optics/")
    hub_auth.cache["a-session-of-before"] = {"name": "ana"}
    app = cast("ServerApp", SimpleNamespace(identity_provider=SimpleNamespace(hub_auth=hub_auth)))
    pages = [await websocket_connect(f"ws://127.0.0.1:{port}/channel") for _ in range(3)]
    async with asyncio.timeout(20):
        assert [await page.read_message() for page in pages] == ["in"] * 3
        end_sessions(app)
        assert [await page.read_message() for page in pages] == [None] * 3
        assert {page.close_code for page in pages} == {POLICY_VIOLATION}
        assert "a-session-of-before" not in hub_auth.cache
        later = await websocket_connect(f"ws://127.0.0.1:{port}/channel")
        assert await later.read_message() == "in", "who may still come in comes back"
        later.close()
    server.stop()
    await server.close_all_connections()
