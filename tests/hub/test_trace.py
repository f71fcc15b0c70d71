"""The trace: one row a change, a chain that shows what was altered."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import delete, update

from bancada_hub.errors import PeopleError, StaleVersion, StoreError
from bancada_hub.people.accounts import change_password, reset_password, set_preferences
from bancada_hub.projects.labs import change_lab, create_lab
from bancada_hub.projects.projects import (
    NewProject,
    add_member,
    archive_project,
    change_project,
    create_project,
    remove_member,
)
from bancada_hub.store import notices, people, trace
from bancada_hub.store.models import AuditRow
from tests.hub.domain import ROOT, Town, make_town, refusal


@pytest.fixture
def town(tmp_path: Path):
    made = make_town(tmp_path / "data")
    yield made
    made.store.engine.dispose()


def test_a_change_that_fails_leaves_neither_change_nor_row(town: Town) -> None:
    before = len(town.audited())

    def fail() -> None:
        with trace.change(town.store, ROOT, "person.add", "person:gil") as made:
            people.set_display_name(made.session, 1, "Changed")
            raise StoreError("gone")

    with pytest.raises(StoreError):
        fail()
    assert len(town.audited()) == before
    with town.store.read() as session:
        assert people.get_person(session, 1).display_name == ""


def test_a_refused_change_leaves_its_reason_and_nothing_else(town: Town) -> None:
    with pytest.raises(PeopleError) as caught:
        remove_member(town.store, ROOT, "wheat", "lia")
    row = town.audited()[0]
    assert (row.actor, row.action, row.subject) == (ROOT.name, "project.remove-member", "project:wheat")
    assert (row.result, row.detail) == (trace.REFUSED, {"why": caught.value.what})
    assert "lia" in town.members("wheat")


LONG = "x" * 81

REFUSED_EARLY: dict[str, Callable[[Town], object]] = {
    "person.add person:Erik": lambda town: town.add("Erik"),
    "person.add person:root": lambda town: town.add("root"),
    "person.add person:gil": lambda town: town.add("gil", display_name=LONG),
    "person.reset-password person:ana": lambda town: reset_password(town.store, ROOT, "ana", "short"),
    "person.change-password person:ana": lambda town: change_password(town.store, town.actor("ana"), "x", "x"),
    "person.preferences person:ana": lambda town: set_preferences(town.store, town.actor("ana"), "tlh", ""),
    "lab.create lab:Me 1": lambda town: create_lab(town.store, ROOT, "Me 1", "Title"),
    "lab.create lab:soil": lambda town: create_lab(town.store, ROOT, "soil", " "),
    "lab.change lab:plants": lambda town: change_lab(town.store, ROOT, "plants", LONG),
    "project.create project:me-1": lambda town: _project(town, "me-1", "Title"),
    "project.create project:oat": lambda town: _project(town, "oat", "a\u202eb"),
    "project.change project:wheat": lambda town: change_project(town.store, ROOT, "wheat", 1, LONG),
    "project.add-member project:rye": lambda town: _add_to_archived(town),
}


def _project(town: Town, slug: str, title: str) -> object:
    return create_project(town.store, town.site, town.actor("lia"), NewProject(slug, title, "plants"))


def _add_to_archived(town: Town) -> object:
    archive_project(town.store, ROOT, "rye")
    return add_member(town.store, ROOT, "rye", "eva")


@pytest.mark.parametrize("what", REFUSED_EARLY)
def test_what_is_refused_before_anything_was_asked_of_the_database_leaves_its_row_too(town: Town, what: str) -> None:
    """Bad input of issue 3: names, titles and passwords that cannot be, and what is archived."""
    refused = refusal(lambda: REFUSED_EARLY[what](town))
    assert refused is not None
    row = town.audited()[0]
    assert (f"{row.action} {row.subject}", row.result, row.detail) == (what, trace.REFUSED, {"why": refused.what})


def test_two_who_change_one_project_leave_two_rows(town: Town) -> None:
    change_project(town.store, town.actor("lia"), "wheat", 1, "Wheat 2")
    with pytest.raises(StaleVersion):
        change_project(town.store, ROOT, "wheat", 1, "Wheat 3")
    refused, done = town.audited(action="project.change")[:2]
    assert (done.actor, done.result) == ("lia", trace.DONE)
    assert (refused.actor, refused.result) == (ROOT.name, trace.REFUSED)


@pytest.mark.parametrize("field", ["actor", "action", "subject", "origin", "result", "detail", "at"])
def test_an_altered_row_shows(town: Town, field: str) -> None:
    value = {"detail": {"x": 1}, "at": trace.datetime.now(trace.UTC)}.get(field, "other")
    with town.store.write() as session:
        session.execute(update(AuditRow).where(AuditRow.id == 2).values(**{field: value}))
    with town.store.read() as session:
        assert trace.verify(session) == ["Audit row 2 was altered after it was written."]


def test_a_removed_row_shows(town: Town) -> None:
    with town.store.write() as session:
        session.execute(delete(AuditRow).where(AuditRow.id == 2))
    with town.store.read() as session:
        (said,) = trace.verify(session)
    assert said.startswith("Audit row 3 does not follow")


def test_rows_are_found_by_who_what_and_when(town: Town) -> None:
    change_project(town.store, town.actor("lia"), "wheat", 1, "Wheat 2")
    (row,) = town.audited(actor="lia", action="project.change")
    assert row.detail == {"from": "Wheat", "to": "Wheat 2", "version": 2}
    assert town.audited(subject="project:wheat", since=row.at)[0].id == row.id
    assert row.id not in {each.id for each in town.audited(before_id=row.id)}
    assert len(town.audited(limit=2)) == 2
    assert town.audited(action="%") == []


@pytest.mark.database
def test_the_chain_holds_on_postgresql_too(tmp_path: Path, postgres_url: str) -> None:
    town = make_town(tmp_path / "data", postgres_url)
    change_project(town.store, town.actor("lia"), "wheat", 1, "Weizen \\ “ü” 👩\u200d🔬")
    with pytest.raises(PeopleError):
        change_project(town.store, town.actor("eva"), "wheat\0", 1, "Mine")
    rows = town.audited()
    assert {row.result for row in rows} == {"done", "refused"}
    with town.store.write() as session:
        session.execute(update(AuditRow).where(AuditRow.id == rows[0].id).values(actor="lia"))
    with town.store.read() as session:
        assert len(trace.verify(session)) == 1
    town.store.engine.dispose()


def test_a_notice_is_told_once_to_its_person(town: Town) -> None:
    with town.store.write() as session:
        assert notices.mark_notices_seen(session, 1, 10**9) == 1, "that of the town's own making"
        told = notices.add_notice(session, 1, notices.NewNotice("<b>5 min left</b>", "warning", "Extend", "/x"))
        assert notices.unseen_notices(session, 1) == [told]
        assert notices.unseen_notices(session, 1, after_id=told.id) == []
        assert not notices.mark_notice_seen(session, 2, told.id)
        assert notices.mark_notice_seen(session, 1, told.id)
        assert notices.unseen_notices(session, 1) == []
        for url in ("https://elsewhere/", "//elsewhere", "javascript:alert(1)", "/\\elsewhere"):
            with pytest.raises(ValueError, match="a path of this site"):
                notices.add_notice(session, 1, notices.NewNotice("x", action_label="y", action_url=url))
