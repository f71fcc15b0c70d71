"""Holds every answer of the REST against the OpenAPI document: neither lacks a key, nor has one that is not there."""

import re
from functools import cache
from typing import Any

import requests
from jsonschema import Draft202012Validator

from bancada_hub.console.openapi import document
from bancada_hub.console.table import ROUTES


@cache
def description() -> dict[str, Any]:
    return document(ROUTES, "test")


def closed(schema: Any) -> Any:
    """Return a schema that lets no unknown key pass, unlike the one for programs."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    return {**made, "additionalProperties": False} if "properties" in made and made.get("type") else made


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """Return what the document says of an address; None when no address fits."""
    bare = "/api/" + path.partition("?")[0]
    # An address without names goes before one with: api/notices/seen is no notice.
    for template, operations in sorted(description()["paths"].items(), key=lambda item: item[0].count("{")):
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), bare):
            return operations.get(method.lower())
    return None


def check_answer(method: str, path: str, reply: requests.Response) -> None:
    """Fail when an answer is not as documented."""
    operation = operation_of(method, path)
    if operation is None:
        return
    responses = operation["responses"]
    assert reply.status_code >= 400 or str(reply.status_code) in responses, (method, path, reply.status_code)
    content = responses.get(str(reply.status_code), responses["default"])["content"]
    schema = content["application/json"]["schema"]
    checker = Draft202012Validator(
        {**closed({"components": description()["components"]}), **schema},
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )
    problems = [f"{error.json_path}: {error.message}" for error in checker.iter_errors(reply.json())]
    assert not problems, f"{method} {path} answers {reply.status_code}, not as documented: {problems}"
