"""The tab Settings of Site: bancada.toml as it is in force; no secret stands in it, and none is shown."""

import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.routes import Route, Rule
from bancada_hub.roles import Action
from bancada_hub.site import Site

_USER_IN_ADDRESS = re.compile(r"(?<=//)[^/@\s]*@")


@dataclass(frozen=True)
class Setting:
    """One key.

    Args:
        key: As in the file, with its table.
        value: As in the file; empty for none. Names and passwords in addresses are left out.
        default: Whether it is what the release brings.
    """

    key: str
    value: str
    default: bool


class SettingsPage(Handler):
    """GET site/settings."""

    def get(self) -> None:
        """Show every key with its value."""
        launch = self.context.launch
        file = str(launch.places.settings_file)
        self.finish(self.page("settings.html", tab="site", part="settings", rows=settings(launch.site), file=file))


def settings(site: Site) -> list[Setting]:
    """Return every key of a site, those at the top first."""
    tables = {name: getattr(site, name) for name in Site.model_fields}
    rows = [_setting(site, name, name) for name, value in tables.items() if not isinstance(value, BaseModel)]
    for table, model in tables.items():
        if isinstance(model, BaseModel):
            rows += [_setting(model, name, f"{table}.{name}") for name in type(model).model_fields]
    return rows


def _setting(model: BaseModel, name: str, key: str) -> Setting:
    value = getattr(model, name)
    return Setting(key, _shown(value), default=value == type(model).model_fields[name].default)


def _shown(value: Any) -> str:  # noqa: ANN401 - a value of any setting
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return _USER_IN_ADDRESS.sub("…@", text)


ROUTES = [Route("site/settings", SettingsPage, {"GET": Rule(Action.SEE_SITE, "The settings as they are in force.")})]
