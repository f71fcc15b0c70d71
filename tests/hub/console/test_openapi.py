"""The OpenAPI document: every answer has its shape, every shape is in use, and real answers fit (see documented.py)."""

import json

import pytest
from jsonschema import Draft202012Validator

from bancada_hub.console.answers import SCHEMAS
from bancada_hub.console.routes import READING
from bancada_hub.console.table import ROUTES
from tests.hub.console.documented import check_answer, closed, description, operation_of
from tests.hub.console.running import Browser, RunningSite

READ = sorted(route.path for route in ROUTES if route.rest and set(route.rules) & READING)
NAMES = {"project": "optics", "lab": "light"}


def test_every_route_for_programs_names_its_answer_and_no_page_does() -> None:
    for route in ROUTES:
        for method, rule in route.rules.items():
            assert (rule.answer in SCHEMAS) is route.rest, (method, route.path, rule.answer)
            assert not rule.query or method in READING, route.path


def test_every_schema_is_valid_and_in_use() -> None:
    whole = description()
    for name, schema in SCHEMAS.items():
        Draft202012Validator.check_schema(schema)
        assert f'"#/components/schemas/{name}"' in json.dumps(whole), name
    used = {part.split('"')[0] for part in json.dumps(whole).split("#/components/schemas/")[1:]}
    assert used <= set(SCHEMAS)


@pytest.mark.parametrize("path", READ)
def test_what_is_read_is_as_documented(running: RunningSite, path: str) -> None:
    """Browser.api holds each answer against the document."""
    people = {"api/projects/{project}/server": "ana", "api/projects": "ana"}
    browser = Browser(running)
    browser.sign_in(people.get(path, "admin"))
    reply = browser.api("GET", path.removeprefix("api/").format(**NAMES))
    assert reply.status_code == 200, reply.text


def test_a_key_too_many_or_too_few_is_found(ana: Browser) -> None:
    reply = ana.api("GET", "profile")
    for body in ({**reply.json(), "more": 1}, {"name": "ana"}, {**reply.json(), "role": "king"}):
        reply._content = json.dumps(body).encode()
        with pytest.raises(AssertionError, match="not as documented"):
            check_answer("GET", "profile", reply)


def test_an_address_without_names_goes_before_one_with() -> None:
    assert operation_of("POST", "notices/seen") == description()["paths"]["/api/notices/seen"]["post"]
    assert operation_of("GET", "projects/optics/server?x=1") is not None
    assert operation_of("GET", "nothing/at/all") is None
    assert closed({"type": "object"}) == {"type": "object"}
