"""The one file that JupyterHub loads: it says how the hub serves this site.

The hub keeps its own database and its proxy; proxy and console are started beside it, never by it: a hub that is
killed would leave them behind, holding the ports of their successors.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

from jupyterhub.app import JupyterHub

from bancada_hub.demo.one_click import one_click_people
from bancada_hub.host.ports import Ports
from bancada_hub.installation import Installation, read_installation
from bancada_hub.launch.bridge import put_bridge_back
from bancada_hub.launch.clock import Clock, recorded_starts
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.docker import DockerServer
from bancada_hub.launch.process import ProcessServer
from bancada_hub.launch.sign_outs import keep_signing_out
from bancada_hub.launch.walls import keep_walls
from bancada_hub.launch.warm import warm_in_background
from bancada_hub.people.authenticator import LocalAccounts
from bancada_hub.secrets import secret
from bancada_hub.store.database import hub_database_url, open_store
from bancada_hub.ui.skin import template_paths, template_vars

CONSOLE = "/services/bancada/"
HTTP_TIMEOUT_S = 20


def setup(c: Any) -> None:  # noqa: ANN401 - traitlets' Config takes any attribute
    """Fill in JupyterHub's configuration for the site named by BANCADA_DATA."""
    installation = read_installation(Path(os.environ["BANCADA_DATA"]))
    _serve(c, installation)
    _keep(c, installation)
    _authenticate(c, installation)
    _console(c, installation)
    _spawn(c, installation)
    c.JupyterHub.template_paths = template_paths()
    c.JupyterHub.template_vars = template_vars(installation.site) | {
        "demo": installation.facts.demo,
        "demo_people": one_click_people(installation),
    }


def _serve(c: Any, installation: Installation) -> None:  # noqa: ANN401
    site, ports = installation.site, Ports.from_base(installation.site.port)
    address = f"http://{installation.facts.gateway}:{ports.hub}"
    c.JupyterHub.bind_url = site.url
    c.JupyterHub.hub_bind_url = address
    c.JupyterHub.hub_connect_url = address
    c.JupyterHub.default_url = CONSOLE
    c.JupyterHub.show_config = False
    c.ConfigurableHTTPProxy.should_start = False
    c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{ports.proxy_api}"
    c.ConfigurableHTTPProxy.auth_token = secret(installation.places.secrets, "proxy-token")
    # A proxy that was restarted has no routes; the hub compares them at this interval (seconds) and puts them back.
    c.JupyterHub.last_activity_interval = 5


def _keep(c: Any, installation: Installation) -> None:  # noqa: ANN401
    c.JupyterHub.db_url = hub_database_url(installation.site, installation.places)
    c.JupyterHub.cookie_secret = bytes.fromhex(secret(installation.places.secrets, "cookie-secret"))
    c.JupyterHub.cleanup_servers = False
    c.JupyterHub.upgrade_db = True
    c.JupyterHub.answer_yes = True
    c.Application.log_level = "INFO"


def _authenticate(c: Any, installation: Installation) -> None:  # noqa: ANN401
    LocalAccounts.store = open_store(installation.site, installation.places)
    c.JupyterHub.authenticator_class = LocalAccounts
    c.LocalAccounts.allow_all = True  # who may sign in is decided by the account, not by a second list
    c.LocalAccounts.manage_groups = True
    c.LocalAccounts.refresh_pre_spawn = True
    # A refresh fails for somebody disabled or signed out only: then their tokens open nothing either.
    c.LocalAccounts.auth_refresh_strict = True


def _console(c: Any, installation: Installation) -> None:  # noqa: ANN401
    ports = Ports.from_base(installation.site.port)
    c.JupyterHub.services = [
        {
            "name": "bancada",
            "display": False,
            "url": f"http://127.0.0.1:{ports.console}",
            "api_token": secret(installation.places.secrets, "console-token"),
            "oauth_client_id": "service-bancada",
            "oauth_no_confirm": True,
        }
    ]
    c.JupyterHub.load_roles = [
        {
            "name": "bancada-console",
            "description": "Starts, stops and lists servers for people who asked the console",
            "services": ["bancada"],
            "scopes": ["list:users", "read:users", "read:servers", "start:servers", "delete:servers"],
        },
        {
            "name": "user",
            "description": "Everybody: their own things, and the console",
            "scopes": ["self", "access:services!service=bancada"],
        },
    ]


def _spawn(c: Any, installation: Installation) -> None:  # noqa: ANN401
    server = {"docker": DockerServer, "process": ProcessServer}[installation.site.engine]
    server.context = LaunchContext.of(installation, LocalAccounts.store)
    facts = installation.facts
    if server.context.firewall:
        keep_walls(server.context.firewall)
    put_bridge_back(server.context, facts.gateway)
    Clock(server.context, recorded_starts(c.JupyterHub.db_url), asyncio.get_running_loop()).begin()
    keep_signing_out(LocalAccounts.store, lambda: JupyterHub.instance().users, asyncio.get_running_loop())
    warm_in_background(server.context)
    c.JupyterHub.spawner_class = server
    c.JupyterHub.allow_named_servers = True
    # With a form, GET /hub/spawn… shows a page, which leads to Work; without one it would start a server.
    c.Spawner.options_form = "<!-- Work -->"
    c.JupyterHub.concurrent_spawn_limit = 100
    c.JupyterHub.init_spawners_timeout = 10
    c.Spawner.start_timeout = installation.site.server.start_timeout_s
    # Our spawners have had an answer before the hub asks once more: a server that is gone by then never gives another.
    c.Spawner.http_timeout = min(HTTP_TIMEOUT_S, installation.site.server.start_timeout_s)
    c.Spawner.server_token_scopes = ["users:activity!user", "access:servers!server", "access:services!service=bancada"]


if "get_config" in globals():
    setup(globals()["get_config"]())
