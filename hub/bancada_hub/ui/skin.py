"""The skin as programs use it: for the hub's own pages, and for the console's.

The hub's pages carry styles and scripts inside them: they must look right while the console is down. The console's
link to files under `static/`, under a name that changes with the content.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from tornado.httputil import HTTPServerRequest

from bancada_hub.site import Site
from bancada_hub.ui import icons, language

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
STATIC = HERE / "static"

THEME_COOKIE, CONTRAST_COOKIE = "bancada-theme", "bancada-contrast"
TABS_COOKIE = "bancada-tabs"
"""Which tabs the console last showed to this browser, so that the hub's pages show the same. It opens nothing."""


_DRAWINGS: dict[str, Callable[..., Any]] = {"icon": icons.icon, "logo": icons.logo, "state": icons.state}


@dataclass(frozen=True)
class Look:
    """How one request wants its page.

    Args:
        words: Its language.
        theme: "light" or "dark"; empty: as the system says.
        contrast: "more"; empty: as the system says.
        admin: Whether the tab Site is shown.
        lead: Whether the tab Lab is shown.
    """

    words: language.Words
    theme: str = ""
    contrast: str = ""
    admin: bool = False
    lead: bool = False


def look_of(request: HTTPServerRequest) -> Look:
    """Return how a request wants its page, from its cookies and headers."""

    def cookie(name: str) -> str:
        return request.cookies[name].value if name in request.cookies else ""

    chosen = language.choose(cookie(language.COOKIE), request.headers.get("Accept-Language", ""))
    theme, contrast = cookie(THEME_COOKIE), cookie(CONTRAST_COOKIE)
    return Look(
        words=language.words(chosen),
        theme=theme if theme in {"light", "dark"} else "",
        contrast=contrast if contrast == "more" else "",
        admin="site" in cookie(TABS_COOKIE).split("."),
        lead="lab" in cookie(TABS_COOKIE).split("."),
    )


def tabs_value(look: Look) -> str:
    """Return the cookie that lets the hub's pages show the same tabs; empty for the common ones alone."""
    return ".".join(name for name, shown in (("lab", look.lead), ("site", look.admin)) if shown)


def template_paths() -> list[str]:
    """Return what c.JupyterHub.template_paths is set to: our pages first, then the hub's own."""
    return [str(TEMPLATES / "hub"), str(TEMPLATES), str(STATIC)]


def template_vars(site: Site) -> dict[str, Any]:
    """Return what c.JupyterHub.template_vars is set to.

    The hub calls what is callable here with the signed-in user and hands the result to the template. Its templates get
    no request; `static_url`, though, is a method of the request's handler, so a function that receives the template's
    context can find the request through it. That is how a page follows its reader's language and theme.
    """
    return {
        "site_name": site.name,
        "engine": site.engine,
        **{name: _for_any_user(function) for name, function in _DRAWINGS.items()},
        "request_look": _for_any_user(_look_in),
        "_": _for_any_user(_gettext_in),
        "ngettext": _for_any_user(_ngettext_in),
    }


def environment(folder: Path, site: Site, *, demo: bool = False) -> Environment:
    """Return a Jinja environment for pages in `folder` that extend the skin's layout."""
    made = Environment(
        loader=ChoiceLoader([FileSystemLoader(folder), FileSystemLoader(TEMPLATES)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(site_name=site.name, engine=site.engine, demo=demo, **_DRAWINGS)
    return made


def _for_any_user(function: Callable[..., Any]) -> Callable[[object], Callable[..., Any]]:
    return lambda _user: function


@pass_context
def _look_in(context: Context) -> Look:
    handler = context["static_url"].__self__
    return look_of(handler.request)


@pass_context
def _gettext_in(context: Context, message: str, /, **values: object) -> str:
    return _look_in(context).words.gettext(message, **values)


@pass_context
def _ngettext_in(context: Context, one: str, many: str, n: int, /, **values: object) -> str:
    return _look_in(context).words.ngettext(one, many, n, **values)
