"""The site's own programs (proxy, hub, console): their commands and what they are told."""

import hashlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from bancada_hub.host.ports import Ports
from bancada_hub.host.services import Program
from bancada_hub.installation import Installation
from bancada_hub.secrets import secret


def programs(installation: Installation, proxy_command: list[str]) -> list[Program]:
    """Return the programs in the order in which they start.

    Args:
        installation: The site.
        proxy_command: The proxy's own command, without options.
    """
    places, ports = installation.places, Ports.from_base(installation.site.port)
    hub_url = f"http://{installation.facts.gateway}:{ports.hub}"
    common = {
        "BANCADA_DATA": str(places.data),
        "BANCADA_CODE": fingerprint(installation),
        "BANCADA_SITE": installation.facts.site_id,
        "PATH": f"{sys.prefix}/bin:{os.environ.get('PATH', os.defpath)}",
        "PYTHONUNBUFFERED": "1",
    }
    hub = Program(
        name="hub",
        command=(sys.executable, "-m", "jupyterhub", "-f", _source("bancada_hub.jupyterhub_config")),
        environment=common,
        directory=places.site,
    )
    console = Program(
        name="console",
        command=(sys.executable, "-m", "bancada_hub.console"),
        environment=common | {"JUPYTERHUB_API_URL": f"{hub_url}/hub/api"},
        directory=places.site,
    )
    found = [_proxy(installation, proxy_command, hub_url, common), hub, console]
    if installation.facts.demo:
        crowd = (sys.executable, "-m", "bancada_hub.demo.crowd")
        found.append(Program(name="crowd", command=crowd, environment=common, directory=places.site))
    return found


def fingerprint(installation: Installation) -> str:
    """Return a hash of our code and the site's settings: when it changes, the programs start anew."""
    digest = hashlib.sha256(installation.places.settings_file.read_bytes())
    for package in ("bancada_hub", "bancada_images", "bancada"):
        root = Path(_source(package)).parent
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _proxy(installation: Installation, command: list[str], hub_url: str, common: dict[str, str]) -> Program:
    site, ports = installation.site, Ports.from_base(installation.site.port)
    options = [
        *("--ip", site.bind, "--port", str(ports.public)),
        *("--api-ip", "127.0.0.1", "--api-port", str(ports.proxy_api)),
        *("--default-target", hub_url, "--error-target", f"{hub_url}/hub/error"),
    ]
    if site.tls_certificate and site.tls_key:
        options += ["--ssl-cert", str(site.tls_certificate), "--ssl-key", str(site.tls_key)]
    token = secret(installation.places.secrets, "proxy-token")
    kept = {name: common[name] for name in ("BANCADA_SITE", "PATH")}
    return Program("proxy", (*command, *options), kept | {"CONFIGPROXY_AUTH_TOKEN": token}, installation.places.site)


def _source(module: str) -> str:
    found = find_spec(module)
    if found is None or found.origin is None:
        msg = f"{module} is not installed"
        raise ModuleNotFoundError(msg, name=module)
    return found.origin
