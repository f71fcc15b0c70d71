"""Making a site's bancada.toml, and changing the one key that a command-line option sets."""

import os
from pathlib import Path

import tomlkit

from bancada_hub.errors import SettingsError
from bancada_hub.places import Places
from bancada_hub.site import Site, load_site, parse_site

HEADER = """\
# This site of Bancada. Every key is described in docs/admin/settings.md; `./bancada up` applies a change.
"""


def settle(places: Places, *, engine: str | None, port: int | None) -> Site:
    """Return the site's settings, made now if there are none, with the port that was asked for.

    Args:
        places: The site's paths.
        engine: The engine for a new site; for an existing one it must be the one it has.
        port: The port that was asked for, if one was.

    Raises:
        SettingsError: A key is wrong, or the engine of an existing site would change.
    """
    path = places.settings_file
    if not path.exists():
        _write(path, new_settings(engine or "docker", port))
        return load_site(places)
    site = load_site(places)
    if engine is not None and engine != site.engine:
        msg = f"The site at {places.data} uses the {site.engine} engine; what it holds fits that one only."
        raise SettingsError(msg, fix=f"Leave --engine out, or make another site: --engine {engine} --data DIR")
    if port is not None and port != site.port:
        document = tomlkit.parse(path.read_text())
        document["port"] = port
        text = tomlkit.dumps(document)
        parse_site(text, path)
        _write(path, text)
    return load_site(places)


def new_settings(engine: str, port: int | None) -> str:
    """Return the text of a new bancada.toml: only what this machine needs; all else has defaults."""
    document = tomlkit.document()
    document["engine"] = engine
    if port is not None:
        document["port"] = port
    bundle = os.environ.get("SSL_CERT_FILE", "")
    if bundle and Path(bundle).is_file():
        packages = tomlkit.table()
        packages.add(tomlkit.comment("Taken from SSL_CERT_FILE of the shell that made this site."))
        packages["ca_bundle"] = bundle
        document["packages"] = packages
    text = HEADER + tomlkit.dumps(document)
    parse_site(text, Path("bancada.toml"))
    return text


def _write(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.chmod(0o600)
    partial.replace(path)
