"""The console's application: its routes and what they share."""

from pathlib import Path

from jupyterhub.services.auth import HubOAuth
from tornado.web import Application, StaticFileHandler

from bancada_hub.console.context import Context
from bancada_hub.console.examination import examine_now
from bancada_hub.console.gpu_queue import GpuQueue
from bancada_hub.console.gpu_watch import GpuWatch
from bancada_hub.console.handlers import demo
from bancada_hub.console.handlers.unknown import ANYTHING_ELSE, Unknown
from bancada_hub.console.hub import HubClient
from bancada_hub.console.routes import PREFIX
from bancada_hub.console.server_api.reports import Reports
from bancada_hub.console.shared import Shared
from bancada_hub.console.starts import Starts
from bancada_hub.console.table import ROUTES
from bancada_hub.console.vouched import Vouched
from bancada_hub.gpus.lab import known_inventory
from bancada_hub.installation import Installation
from bancada_hub.launch.context import LaunchContext
from bancada_hub.secrets import secret
from bancada_hub.store.database import Store
from bancada_hub.ui import skin

TEMPLATES = Path(__file__).parent / "templates"
SERVICE = "bancada"
IDENTITY_CACHE_S = 60
"""How long the hub's word for who somebody is holds. Whether the account is disabled is asked at each request."""


class _Static(StaticFileHandler):
    """Styles and scripts, under addresses that change with their content: an old tab never mixes releases."""

    def set_extra_headers(self, path: str) -> None:
        self.set_header("X-Content-Type-Options", "nosniff")


def make_context(installation: Installation, store: Store, api_url: str) -> Context:
    """Return what the handlers share.

    Args:
        installation: The site.
        store: Its database.
        api_url: The hub's REST.
    """
    token = secret(installation.places.secrets, "console-token")
    hub = HubClient(api_url, token)
    sign_in_at_hub = HubOAuth(
        api_url=api_url,
        api_token=token,
        base_url=PREFIX,
        hub_prefix="/hub/",
        oauth_client_id=f"service-{SERVICE}",
        oauth_redirect_uri=PREFIX + "oauth_callback",
        access_scopes={f"access:services!service={SERVICE}"},
        cache_max_age=IDENTITY_CACHE_S,
        allow_token_in_url=False,
    )
    starts, cards = Starts(hub), Shared(lambda: known_inventory(store, installation.facts.simulated_gpus))
    queue, reports = GpuQueue(store, cards, hub, starts), Reports()
    return Context(
        launch=LaunchContext.of(installation, store),
        hub=hub,
        starts=starts,
        sign_in=sign_in_at_hub,
        environment=skin.environment(TEMPLATES, installation.site, demo=installation.facts.demo),
        examination=Shared(lambda: examine_now(installation.places.data)),
        cards=cards,
        queue=queue,
        watch=GpuWatch(store, cards, reports, queue.look_soon),
        reports=reports,
        vouched=Vouched(sign_in_at_hub.cache),
        demo=installation.facts.demo,
    )


def make_app(context: Context) -> Application:
    """Return the application."""
    routes = (*ROUTES, *demo.ROUTES) if context.demo else ROUTES
    return Application(
        [*(route.spec() for route in routes), (".*", Unknown, {"route": ANYTHING_ELSE})],
        context=context,
        routes=routes,
        cookie_secret=secret(context.launch.places.secrets, "console-cookie"),
        static_path=str(skin.STATIC),
        static_url_prefix=PREFIX + "static/",
        static_handler_class=_Static,
        xsrf_cookie_kwargs={"samesite": "Lax", "secure": bool(context.launch.site.tls_certificate)},
    )
