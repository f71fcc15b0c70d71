"""The REST of the console in OpenAPI 3.1, computed from the routes' declarations."""

from collections.abc import Iterable
from typing import Any

from bancada_hub.console.access import IN_WORDS, Who
from bancada_hub.console.answers import SCHEMAS, reference
from bancada_hub.console.routes import PREFIX, READING, Field, Route, Rule

_TYPES: dict[type, str | list[str]] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    float: ["number", "null"],
}
_REFUSAL = {"application/json": {"schema": reference("Refusal")}}
UNDER_WAY = "UnderWay"
"""The answer of what goes on after it was answered: 202."""

_ABOUT = {
    "project": "The project's slug",
    "lab": "The lab's slug",
    "person": "The account name",
    "notice": "The notice's number",
    "request": "The number of a request for GPUs",
    "rule": "The number of what holds for a time",
    "card": "A GPU's UUID, or the first 8 characters or more of it",
    "incident": "The incident's number",
}


def document(routes: Iterable[Route], release: str) -> dict[str, Any]:
    """Return the description of all routes below `api/`.

    Args:
        routes: The console's routes.
        release: The version of Bancada.
    """
    paths: dict[str, Any] = {}
    for route in routes:
        if route.rest:
            operations = {method.lower(): _operation(method, rule) for method, rule in route.rules.items()}
            parameters = [_parameter(name) for name in route.names]
            paths["/" + route.path] = ({"parameters": parameters} if parameters else {}) | operations
    return {
        "openapi": "3.1.0",
        "info": {"title": "Bancada", "version": release, "description": "What people and their programs may ask for."},
        "servers": [{"url": PREFIX.rstrip("/")}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "“token ” and a token of one's own from /hub/token.",
                }
            },
            "schemas": dict(SCHEMAS),
        },
    }


def _operation(method: str, rule: Rule) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": rule.summary,
        "description": f"Open to: {IN_WORDS[rule.who]}."
        + (f" Written to the audit as {rule.audit}." if rule.audit else ""),
        "responses": _answers(rule) | _refusals(method, rule),
    }
    if rule.query:
        found["parameters"] = [_in_query(each) for each in rule.query]
    if rule.who is Who.ANYBODY:
        found["security"] = []
    if method not in READING:
        schema = body_schema(rule.body)
        content = {"application/json": {"schema": schema}, "application/x-www-form-urlencoded": {"schema": schema}}
        found["requestBody"] = {"required": bool(schema["required"]), "content": content}
    return found


def body_schema(fields: tuple[Field, ...]) -> dict[str, Any]:
    """Return the JSON schema of a body."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [each.name for each in fields if each.default is None and not each.optional],
        "properties": {each.name: _property(each) for each in fields},
    }


def _property(each: Field) -> dict[str, Any]:
    found: dict[str, Any] = {"type": _TYPES[each.kind], "description": each.about}
    if each.choices:
        found["enum"] = list(each.choices)
    if each.default is not None:
        found["default"] = each.default
    return found


def _parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "description": _ABOUT[name], "schema": {"type": "string"}}


def _in_query(each: Field) -> dict[str, Any]:
    return {
        "name": each.name,
        "in": "query",
        "description": each.about,
        "schema": {key: value for key, value in _property(each).items() if key != "description"},
    }


def _answers(rule: Rule) -> dict[str, Any]:
    status, words = ("202", "Under way") if rule.answer == UNDER_WAY else ("200", "Done")
    return {status: {"description": words, "content": {"application/json": {"schema": reference(rule.answer)}}}}


def _refusals(method: str, rule: Rule) -> dict[str, Any]:
    words = {}
    if rule.who is not Who.ANYBODY:
        words["401"] = "Nobody is signed in"
        words["404"] = "There is no such thing, or it is not this person's to see"
    if method not in READING:
        words["400"] = "The body has a key that is unknown, missing or of the wrong kind"
        words["403"] = "The token or the page is not good for this"
        words["409"] = "Refused in the present state; the message says why and what to do"
    words["default"] = "Anything else that kept it from being done"
    return {status: {"description": text, "content": _REFUSAL} for status, text in words.items()}
