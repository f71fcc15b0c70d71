"""Runs the console: `python -m bancada_hub.console`, with BANCADA_DATA and JUPYTERHUB_API_URL in the environment."""

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from tornado.httpserver import HTTPServer

from bancada_hub.console.app import make_app, make_context
from bancada_hub.console.server_api.app import ServerApi, make_server_api
from bancada_hub.console.server_api.notices import NoticeWatch
from bancada_hub.errors import BancadaError, HostError, SettingsError
from bancada_hub.host.ports import Ports
from bancada_hub.installation import Installation, read_installation
from bancada_hub.store.database import open_store

ADDRESS = "127.0.0.1"
LARGEST_BODY_BYTES = 1024**2
LARGEST_REPORT_BYTES = 256 * 1024
SHUTDOWN_S = 1.0

log = logging.getLogger("bancada.console")


def main() -> int:
    """Serve until told to stop; returns the exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # Every request would be a line, and a page asks once a second while something starts.
    logging.getLogger("tornado.access").setLevel(logging.WARNING)
    try:
        data, api_url = _variable("BANCADA_DATA"), _variable("JUPYTERHUB_API_URL")
        asyncio.run(_serve(read_installation(Path(data)), api_url))
    except BancadaError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


async def _serve(installation: Installation, api_url: str) -> None:
    store = open_store(installation.site, installation.places)
    context = make_context(installation, store, api_url)
    # xheaders: only the site's proxy can reach this port, and it says who really asks, and whether by https.
    server = HTTPServer(make_app(context), xheaders=True, max_body_size=LARGEST_BODY_BYTES)
    watch = NoticeWatch(store)
    api = make_server_api(ServerApi(store, context.hub, context.sign_in, context.reports, watch, context.cards))
    # No xheaders: servers ask here directly, and may write what they like into a header.
    inner = HTTPServer(api, max_body_size=LARGEST_REPORT_BYTES)
    ports = Ports.from_base(installation.site.port)
    _listen(server, ADDRESS, ports.console)
    _listen(inner, installation.facts.gateway, ports.server_api)
    context.queue.start()
    context.watch.start()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    server.stop()
    inner.stop()
    await watch.close()
    await context.queue.close()
    await context.watch.close()
    await context.starts.close()
    context.hub.close()
    try:
        async with asyncio.timeout(SHUTDOWN_S):
            await asyncio.gather(server.close_all_connections(), inner.close_all_connections())
    except TimeoutError:
        log.warning("Some requests were cut short.")


def _listen(server: HTTPServer, address: str, port: int) -> None:
    try:
        server.listen(port, address)
    except OSError as error:
        msg = f"The console cannot serve on port {port} of {address}: {error.strerror}."
        raise HostError(msg, fix="Stop what holds the port, or choose another: ./bancada up --port N") from error
    log.info("The console serves on %s:%d", address, port)


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        msg = f"The variable {name} is not set."
        raise SettingsError(msg, fix="Start the console with ./bancada up, which sets it.")
    return value


if __name__ == "__main__":
    sys.exit(main())
