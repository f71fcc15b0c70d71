"""The Jupyter Server extension: it links a server with its site, and says to pages where they are.

Loaded by name (`bancada.server.configuration.EXTENSIONS`); outside a site it does nothing.
"""

import os
from collections.abc import Mapping

from jupyter_server.serverapp import ServerApp

from bancada.contract import KIND_VARIABLE, LANGUAGE_VARIABLE, PLACES, PROJECT_VARIABLE, SITE_API_VARIABLE
from bancada.server.activity import measure_activity
from bancada.server.cards import cards_error
from bancada.server.sessions import end_sessions
from bancada.server.site_client import SiteClient
from bancada.server.site_link import SiteLink
from bancada.server.site_routes import LINK, routes

MY_FILES, EXAMPLES = PLACES[0][0], PLACES[3][0]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "bancada.server.extension"}]


def _load_jupyter_server_extension(app: ServerApp) -> None:
    settings = app.web_app.settings
    settings.setdefault("page_config_data", {}).update(page_options(os.environ))
    address, token = os.environ.get(SITE_API_VARIABLE), os.environ.get("JUPYTERHUB_API_TOKEN")
    if not address or not token:
        app.log.info("No site: %s is not set.", SITE_API_VARIABLE)
        return
    client = SiteClient(address, token, os.environ.get(LANGUAGE_VARIABLE, ""))
    kind = os.environ.get(KIND_VARIABLE, "work")
    settings[LINK] = SiteLink(
        client, lambda: measure_activity(app), kind, lambda: end_sessions(app), lambda: cards_error(os.environ)
    )
    app.web_app.add_handlers(".*$", routes(settings["base_url"]))  # type: ignore[no-untyped-call]


async def _start_jupyter_server_extension(app: ServerApp) -> None:
    link: SiteLink | None = app.web_app.settings.get(LINK)
    if link:
        link.start()


def page_options(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what JupyterLab's page knows from the start.

    Args:
        environment: The server's variables.
    """
    return {
        "bancadaProject": environment.get(PROJECT_VARIABLE, ""),
        "bancadaWork": f"{environment.get('JUPYTERHUB_BASE_URL', '/')}services/bancada/",
        "bancadaMyFiles": MY_FILES,
        "bancadaExamples": EXAMPLES,
    }
