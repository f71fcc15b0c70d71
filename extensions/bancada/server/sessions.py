"""Ending what browsers have open at this server, when its person was signed out everywhere. Kernels run on."""

import gc

from jupyter_server.serverapp import ServerApp
from tornado.websocket import WebSocketHandler

POLICY_VIOLATION = 1008


def end_sessions(app: ServerApp) -> None:
    """Forget whom the hub vouched for, and close every connection that is open.

    What is kept of the hub's word is good for minutes, and a connection is only ever asked at its beginning: a browser
    of before would go on for as long as its page is open. Each that still may comes back by itself.

    Args:
        app: The server.
    """
    app.identity_provider.hub_auth.cache.clear()  # type: ignore[attr-defined]  # JupyterHub's
    # Kernels, terminals and extensions keep lists of their own, or none; whatever comes later is found here too.
    for handler in (each for each in gc.get_objects() if isinstance(each, WebSocketHandler)):
        if handler.ws_connection is not None:
            handler.close(POLICY_VIOLATION, "Signed out")
