"""What the console refuses is on record: what was asked for, by whom, and why not."""

import pytest

from bancada_hub.store.trace import Filter, audit_entries
from tests.hub.console.running import Browser, RunningSite

LONG = "x" * 81
NO_LIMIT = {"max_memory_gib": None, "max_cpus": None}


@pytest.mark.parametrize(
    ("path", "body", "action", "subject"),
    [
        ("people", {"name": "Erik"}, "person.add", "person:Erik"),
        ("labs", {"slug": "me-1", "title": "Me"}, "lab.create", "lab:me-1"),
        ("labs/light/change", {"title": LONG}, "lab.change", "lab:light"),
        ("labs/light/limits", {**NO_LIMIT, "max_cpus": -1, "version": 1}, "lab.limits", "lab:light"),
        ("labs/light/projects", {"slug": "Oat 1", "title": "Oat"}, "project.create", "project:Oat 1"),
        ("projects/optics/change", {"title": " ", "version": 1}, "project.change", "project:optics"),
        (
            "projects/optics/limits",
            {**NO_LIMIT, "max_memory_gib": 0, "egress": "open", "version": 1},
            "project.limits",
            "project:optics",
        ),
    ],
)
def test_a_refusal_is_on_record(
    running: RunningSite, path: str, body: dict[str, object], action: str, subject: str
) -> None:
    admin = Browser(running)
    assert admin.sign_in("admin").status_code == 200
    refused = admin.api("POST", path, json=body)
    assert 400 <= refused.status_code < 500, refused.text
    with running.store.read() as session:
        row, before = audit_entries(session, Filter(limit=2))
    assert (row.actor, row.action, row.subject, row.result) == ("admin", action, subject, "refused")
    assert row.detail["why"]
    assert (before.action, before.subject) != (action, subject), "once"
