"""Every route for every role, own and foreign, as the table for developers says; and what is written down of it."""

from pathlib import Path

import pytest
import requests

from bancada_hub.console.access import Who, may_call
from bancada_hub.console.openapi import body_schema
from bancada_hub.console.routes import READING, Field, Route, Rule
from bancada_hub.console.routes_reference import COLUMNS, markdown
from bancada_hub.console.table import ROUTES
from bancada_hub.roles import Action, Standing
from bancada_hub.store.trace import Filter, audit_entries
from tests.hub.console.running import Browser, RunningSite, hidden

PAGE = Path(__file__).parents[3] / "docs" / "developer" / "routes.md"
PEOPLE = {"researcher": "ana", "project lead": "bia", "lab lead": "leo", "admin": "admin"}
NUMBERS = {"request": "1", "rule": "1", "incident": "1", "card": "GPU-00000000"}
SIDES = {
    "own": {"project": "optics", "lab": "light", "person": "ana", "notice": "1", **NUMBERS},
    "foreign": {"project": "secret", "lab": "dark", "person": "rui", "notice": "1", **NUMBERS},
}
LET_IN = {"GET": {200, 302}, "POST": {400}, "DELETE": {400}}
"""What is sent to change something has a key that no route knows: whoever is let in gets 400, and nothing changes."""

BY_ADDRESS = {(method, route.path): (route, rule) for route in ROUTES for method, rule in route.rules.items()}


def table() -> dict[tuple[str, str], dict[str, str]]:
    """Return the cells of the page by method and address."""
    rows = [
        [cell.strip() for cell in line.strip("| \n").split("|")]
        for line in PAGE.read_text().splitlines()
        if line[:2] == "| "
    ]
    head, found = rows[0], {}
    for row in rows[2:]:
        cells = dict(zip(head, row + [""] * (len(head) - len(row)), strict=True))
        found[cells["method"], cells["address"].strip("`").replace("/` (Work)", "")] = cells
    return found


@pytest.fixture(scope="module")
def browsers(running: RunningSite) -> dict[str, Browser]:
    made = {role: Browser(running) for role in PEOPLE}
    for role, browser in made.items():
        assert browser.sign_in(PEOPLE[role]).status_code == 200
    return made


@pytest.fixture(scope="module")
def tokens(browsers: dict[str, Browser]) -> dict[str, str]:
    return {role: hidden(browser.get("/services/bancada/").text, "data-xsrf") for role, browser in browsers.items()}


def ask(session: requests.Session, method: str, url: str, token: str = "") -> requests.Response:
    headers = {"Accept": "application/json", "X-XSRFToken": token}
    body = None if method in READING else {"no-such-field": 1}
    return session.request(method, url, headers=headers, json=body, allow_redirects=False, timeout=60)


def test_the_page_is_what_the_declarations_generate() -> None:
    command = "python -m bancada_hub.console.routes_reference > docs/developer/routes.md"
    assert PAGE.read_text() == markdown(), f"refresh it: {command}"
    assert set(table()) == set(BY_ADDRESS)


def test_every_route_that_changes_something_names_its_audit_action_and_who_may() -> None:
    for (method, path), (_, rule) in BY_ADDRESS.items():
        if method in READING:
            assert rule.audit == "", path
        else:
            assert rule.audit, f"{method} {path} writes nothing to the audit"
            assert rule.who is not Who.ANYBODY, f"{method} {path} is open to anybody"


def test_no_handler_answers_a_method_that_its_route_does_not_declare() -> None:
    for route in ROUTES:
        own = {method for method in ("GET", "POST", "PUT", "PATCH", "DELETE") if method.lower() in vars(route.handler)}
        declared = {method for each in ROUTES if each.handler is route.handler for method in each.rules}
        assert own <= declared, route.path


@pytest.mark.parametrize("key", list(BY_ADDRESS), ids=lambda key: f"{key[0]}-{key[1] or 'work'}")
def test_the_running_console_answers_as_the_table_says(
    running: RunningSite, browsers: dict[str, Browser], tokens: dict[str, str], key: tuple[str, str]
) -> None:
    method, (route, _) = key[0], BY_ADDRESS[key]
    for column in COLUMNS:
        said = table()[key][column]
        role, _, side = column.partition(", ")
        names = {name: SIDES[side or "own"][name] for name in route.names}
        url = running.url + route.address(**names)
        session = browsers[role] if side else requests.Session()
        reply = ask(session, method, url, tokens.get(role, ""))
        if said == "yes":
            assert reply.status_code in LET_IN[method] | ({409} if route.path == "oauth_callback" else set()), column
        else:
            assert reply.status_code == int(said), (column, reply.text)


def test_a_person_alone_decides_nothing_that_is_the_databases() -> None:
    nobody = Standing()
    assert [action for action in Action if may_call(action, nobody)] == []


def test_what_is_there_and_what_is_not_look_alike(browsers: dict[str, Browser], tokens: dict[str, str]) -> None:
    for path in ("api/projects/{}/members", "api/labs/{}/projects"):
        answers = [
            ask(browsers["researcher"], "POST", f"/services/bancada/{path.format(slug)}", tokens["researcher"]).text
            for slug in ("secret" if "projects/{}" in path else "dark", "no-such-thing")
        ]
        assert answers[0] == answers[1]


FIELDS = (Field("title", ""), Field("version", "", int), Field("lead", "", bool, default=False))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"title": "T", "version": 1, "admin": True}, "There is no field “admin” here."),
        ({"version": 1}, "The field “title” is missing."),
        ({"title": 5, "version": 1}, "The field “title” must be text."),
        ({"title": None, "version": 1}, "The field “title” must be text."),
        ({"title": "T", "version": "1"}, "The field “version” must be a whole number."),
        ({"title": "T", "version": True}, "The field “version” must be a whole number."),
        ({"title": "T", "version": 1.5}, "The field “version” must be a whole number."),
        ([], "The body must be a table of names and values."),
    ],
)
def test_a_body_with_a_wrong_key_is_refused_by_name(
    browsers: dict[str, Browser], tokens: dict[str, str], body: object, words: str
) -> None:
    headers = {"Accept": "application/json", "X-XSRFToken": tokens["project lead"]}
    path = "/services/bancada/api/projects/optics/change"
    reply = browsers["project lead"].post(path, json=body, headers=headers)
    assert (reply.status_code, reply.json()["message"]) == (400, words)
    headers["Accept-Language"] = "pt-BR"
    translated = browsers["project lead"].post(path, json=body, headers=headers).json()["message"]
    assert translated != words


def test_a_form_is_judged_like_json(browsers: dict[str, Browser], tokens: dict[str, str]) -> None:
    headers = {"Accept": "application/json", "X-XSRFToken": tokens["project lead"]}
    for data, words in (
        ("title=A&title=B&version=1", "The field “title” is given twice."),
        ("title=A&version=one", "The field “version” must be a whole number."),
        ("title=A&version=1&x=1", "There is no field “x” here."),
        ("title=%ff&version=1", "The field “title” must be text."),
    ):
        reply = browsers["project lead"].post(
            "/services/bancada/api/projects/optics/change",
            data=data,
            headers=headers | {"Content-Type": "application/x-www-form-urlencoded"},
        )
        assert (reply.status_code, reply.json()["message"]) == (400, words)


def test_the_description_in_openapi_is_of_these_routes(browsers: dict[str, Browser]) -> None:
    found = browsers["researcher"].get("/services/bancada/api/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    described = {
        (method.upper(), path.lstrip("/")): operation
        for path, operations in found["paths"].items()
        for method, operation in operations.items()
        if method != "parameters"
    }
    assert set(described) == {key for key in BY_ADDRESS if key[1].startswith("api/")}
    for key, operation in described.items():
        rule = BY_ADDRESS[key][1]
        assert operation["summary"] == rule.summary
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        assert schema == (None if key[0] in READING else body_schema(rule.body))
        parameters = {each["name"] for each in found["paths"]["/" + key[1]].get("parameters", [])}
        assert parameters == set(BY_ADDRESS[key][0].names)


def test_a_start_and_a_stop_are_written_down(browsers: dict[str, Browser], running: RunningSite) -> None:
    ana = browsers["researcher"]
    assert ana.api("POST", "projects/optics/start", json={"kind": "rescue"}).status_code == 202
    assert ana.api("DELETE", "projects/optics/server").status_code == 202
    with running.store.read() as session:
        rows = audit_entries(session, Filter(actor="ana", action="server.", limit=2))
    assert [(row.action, row.subject, row.result) for row in rows] == [
        ("server.stop", "project:optics", "done"),
        ("server.start", "project:optics", "done"),
    ]
    assert rows[1].detail == {"kind": "rescue"}
    assert rows[1].origin == "127.0.0.1"


def test_an_address_is_made_of_its_names() -> None:
    route = Route("api/projects/{project}/members/{person}/lead", object, {"POST": Rule(Who.PERSON, "")})  # type: ignore[arg-type]
    assert route.names == ["project", "person"]
    assert route.address(project="a", person="b") == "/services/bancada/api/projects/a/members/b/lead"
