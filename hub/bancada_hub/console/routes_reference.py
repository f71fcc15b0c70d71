"""The table of routes for developers, from their declarations: `python -m bancada_hub.console.routes_reference`."""

import sys
from collections.abc import Iterable

from bancada_hub.console.access import IN_WORDS, Allowed, Who, may_call
from bancada_hub.console.routes import PREFIX, READING, Route
from bancada_hub.console.table import ROUTES
from bancada_hub.roles import Action, Standing, Subject

HEAD = f"""\
# Routes of the console

Every address below `{PREFIX}`, who may call it, and what the audit says of it. The roles come from Bancada's database
at each request; the hub's scopes decide nothing. *Own* and *foreign* are the project or lab that the address names, as
seen by that role; `yes` is let in, `404` looks like an address that does not exist, `401` asks to sign in, `403`
was sent from no page of this site.

This page is generated from the code: `python -m bancada_hub.console.routes_reference > docs/developer/routes.md`.
A test walks it against a running console.

"""

OWN_LAB, OWN_PROJECT = 1, 1
OWN, FOREIGN = Subject(OWN_LAB, OWN_PROJECT), Subject(2, 2)
_IN_IT = frozenset({OWN_PROJECT})

STANDINGS = {
    "researcher": Standing(projects=_IN_IT),
    "project lead": Standing(projects=_IN_IT, project_leads=_IN_IT, labs=frozenset({OWN_LAB})),
    "lab lead": Standing(lab_leads=frozenset({OWN_LAB})),
    "admin": Standing(admin=True),
}
"""A person of each role. Admins and lab leads here are in no project: their role does not put them into one."""

COLUMNS = ("signed out", *(f"{role}, {side}" for role in STANDINGS for side in ("own", "foreign")))


def markdown(routes: Iterable[Route] = ROUTES) -> str:
    """Return the page."""
    head = ("method", "address", "open to", *COLUMNS, "audit")
    rows = [_row(head), _row(["---"] * len(head))]
    for route in routes:
        for method, rule in route.rules.items():
            cells = answers(rule.who, method)
            address = f"`{route.path}`" if route.path else "`/` (Work)"
            rows.append(_row([method, address, IN_WORDS[rule.who], *(cells[column] for column in COLUMNS), rule.audit]))
    return HEAD + "\n".join(rows) + "\n"


def answers(allowed: Allowed, method: str) -> dict[str, str]:
    """Return what each column of the table says of a route that asks for this."""
    outside = "401" if method in READING else "403"
    found = {"signed out": "yes" if allowed is Who.ANYBODY else outside}
    for role, standing in STANDINGS.items():
        for side, subject in (("own", OWN), ("foreign", FOREIGN)):
            seen = subject if isinstance(allowed, Action) else Subject()
            found[f"{role}, {side}"] = "yes" if may_call(allowed, standing, seen) else "404"
    return found


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.stdout.write(markdown())
