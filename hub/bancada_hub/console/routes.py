"""What a route is: an address, who may call it, what its body holds, and which audit action it writes.

Everything else follows from these declarations: tornado's routes, the check before each request, the refusal of a
body, the OpenAPI document, and the table docs/developer/routes.md.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tornado.httputil import HTTPServerRequest
from tornado.routing import URLSpec
from tornado.web import RequestHandler

from bancada_hub.console.access import Allowed
from bancada_hub.console.errors import BadBodyError
from bancada_hub.errors import told

PREFIX = "/services/bancada/"
READING = frozenset({"GET", "HEAD", "OPTIONS"})
TRUE, FALSE = frozenset({"on", "true", "1"}), frozenset({"", "false", "0"})
"""What a form's field says for yes and no; a box that is not ticked sends nothing."""

Value: TypeAlias = str | int | bool | float | None


@dataclass(frozen=True)
class Field:
    """One key of a body.

    Args:
        name: The key.
        about: What it holds, for the OpenAPI document.
        kind: `str`, `int`, `bool`, or `float` for a number that may be null, or empty in a form: no number.
        default: What a body without it means; None: it must be there.
        choices: The only values; empty: any of its kind.
        optional: Whether a number that may be null may be left out as well.
    """

    name: str
    about: str
    kind: type[str] | type[int] | type[bool] | type[float] = str
    default: Value | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False


@dataclass(frozen=True)
class Rule:
    """One method of a route.

    Args:
        who: Who may call it; asked of the database.
        summary: What it does, in one sentence.
        audit: The audit action that it writes; every method that changes something names one.
        body: The keys of its body.
        query: The keys of its query that choose what is answered.
        answer: The name of what it answers to programs, in `bancada_hub.console.answers`; empty for a page.
        with_first_password: Whether it may be called before a password that somebody else chose is changed.
    """

    who: Allowed
    summary: str
    audit: str = ""
    body: tuple[Field, ...] = ()
    query: tuple[Field, ...] = ()
    answer: str = ""
    with_first_password: bool = False


@dataclass(frozen=True)
class Route:
    """An address and its methods.

    Args:
        path: Below PREFIX; `{project}`, `{lab}` and `{person}` stand for names.
        handler: What answers.
        rules: A rule for each method.
    """

    path: str
    handler: type[RequestHandler]
    rules: Mapping[str, Rule] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """What the address names, in its order."""
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def rest(self) -> bool:
        """Whether it is for programs: those are described in OpenAPI."""
        return self.path.startswith("api/")

    def spec(self) -> URLSpec:
        """Return the route as tornado wants it."""
        pattern = "".join("([^/]+)" if n % 2 else re.escape(part) for n, part in enumerate(self._parts()))
        return URLSpec(PREFIX + pattern, self.handler, {"route": self})

    def address(self, **names: str) -> str:
        """Return the address with its names filled in."""
        return PREFIX + self.path.format(**names)

    def _parts(self) -> list[str]:
        return re.split(r"\{(\w+)\}", self.path)


def read_body(request: HTTPServerRequest, fields: tuple[Field, ...]) -> dict[str, Any]:
    """Return the values of a body, JSON or a form, with the defaults of those that are not there.

    Raises:
        BadBodyError: It is no table, or a key is unknown, missing, given twice or of the wrong kind; names the key.
    """
    as_json = request.headers.get("Content-Type", "").startswith("application/json")
    raw = _json_table(request.body) if as_json else _form(request)
    known = {each.name: each for each in fields}
    # A form with other fields than ours comes from a page that was opened before the site was upgraded.
    fix = "" if as_json else told("Reload the page and try again.")
    for name in raw:
        if name not in known:
            raise BadBodyError(told("There is no field “%(name)s” here.", name=str(name)[:40]), fix=fix)
    values: dict[str, Any] = {}
    for name, each in known.items():
        if name in raw:
            values[name] = _checked(each, raw[name], as_json=as_json)
        elif each.optional:
            values[name] = None
        elif each.default is None:
            raise BadBodyError(told("The field “%(name)s” is missing.", name=name), fix=fix)
        else:
            values[name] = each.default
    return values


def _json_table(body: bytes) -> Mapping[str, Any]:
    try:
        raw = json.loads(body or b"{}")
    except ValueError as error:
        raise BadBodyError(told("The body is not JSON.")) from error
    if not isinstance(raw, dict):
        raise BadBodyError(told("The body must be a table of names and values."))
    return raw


def _form(request: HTTPServerRequest) -> Mapping[str, str]:
    found = {}
    for name, values in request.body_arguments.items():
        if name == "_xsrf":
            continue
        if len(values) != 1:
            raise BadBodyError(told("The field “%(name)s” is given twice.", name=name[:40]))
        try:
            found[name] = values[0].decode()
        except UnicodeDecodeError as error:
            raise BadBodyError(told("The field “%(name)s” must be text.", name=name[:40])) from error
    return found


def _checked(each: Field, value: object, *, as_json: bool) -> Value:
    if each.kind is float:
        return _number(each, value, as_json=as_json)
    given = value if as_json else _from_form(each, str(value))
    if type(given) is not each.kind:
        raise BadBodyError(_WRONG_KIND[each.kind](each.name))
    if each.choices and given not in each.choices:
        choices = ", ".join(choice or "“”" for choice in each.choices)
        raise BadBodyError(
            told("The field “%(name)s” can be one of these: %(choices)s.", name=each.name, choices=choices)
        )
    return given


def _number(each: Field, value: object, *, as_json: bool) -> float | None:
    """Return a number that may be missing; people write it with the decimal mark of their language."""
    if value is None or (not as_json and not str(value).strip()):
        return None
    try:
        # A yes is a number for Python.
        given = float("no" if isinstance(value, bool) else value if as_json else str(value).replace(",", "."))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        given = math.nan
    if not math.isfinite(given) or (as_json and isinstance(value, str)):
        raise BadBodyError(_WRONG_KIND[float](each.name))
    return given


def _from_form(each: Field, text: str) -> object:
    if each.kind is int:
        return int(text) if re.fullmatch(r"-?\d{1,9}", text) else None
    if each.kind is bool:
        return True if text in TRUE else False if text in FALSE else None
    return text


_WRONG_KIND = {
    str: lambda name: told("The field “%(name)s” must be text.", name=name),
    int: lambda name: told("The field “%(name)s” must be a whole number.", name=name),
    bool: lambda name: told("The field “%(name)s” must be true or false.", name=name),
    float: lambda name: told("The field “%(name)s” must be a number, or empty.", name=name),
}
