"""Labs and projects: who may, what is refused, and what is left on record."""

import threading

import pytest

from bancada_hub.errors import Forbidden, NotFound, PeopleError, StaleVersion
from bancada_hub.people.accounts import disable_account
from bancada_hub.projects.labs import (
    add_lab_lead,
    archive_lab,
    change_lab,
    create_lab,
    remove_lab_lead,
)
from bancada_hub.projects.projects import (
    NewProject,
    add_member,
    archive_project,
    change_project,
    create_project,
    remove_member,
    set_lead,
)
from bancada_hub.store import projects
from bancada_hub.store.granted import Wanted, grants
from bancada_hub.store.projects import outsiders
from tests.hub.domain import ROOT, Town

CODE = "<script>alert(1)</script> '); DROP TABLE people;-- {{7*7}}"


def test_a_labs_lead_makes_projects_and_leads_them(town: Town) -> None:
    made = create_project(town.store, town.site, town.actor("lia"), NewProject("oats", CODE, "plants"))
    assert (made.title, town.members("oats")) == (CODE, {"lia": True})
    assert town.project("oats").gid > max(town.project("wheat").gid, town.project("rye").gid)
    (row,) = town.audited(action="project.create", subject="project:oats")
    assert (row.actor, row.result, row.detail["lab"]) == ("lia", "done", "plants")


def test_names_are_given_once(town: Town) -> None:
    archive_project(town.store, ROOT, "rye")
    with pytest.raises(PeopleError, match="There is a project “rye” already"):
        create_project(town.store, town.site, ROOT, NewProject("rye", "Rye", "plants"))
    with pytest.raises(PeopleError, match="There is a lab “plants” already"):
        create_lab(town.store, ROOT, "plants", "Plants")


def test_unknown_and_foreign_look_alike(town: Town) -> None:
    eva = town.actor("eva")
    said = set()
    for slug in ("wheat", "barley"):
        with pytest.raises(NotFound) as refused:
            change_project(town.store, eva, slug, 1, "Mine")
        said.add(str(refused.value).replace(slug, "…"))
    assert len(said) == 1
    for slug in ("../x", "", "wheat\0", "WHEAT", "\ud800"):
        with pytest.raises(NotFound):
            add_member(town.store, eva, slug, "eva")


@pytest.mark.parametrize(("name", "error"), [("ana", Forbidden), ("eva", NotFound)])
def test_what_needs_a_lead_is_refused_to_others_and_put_on_record(town: Town, name: str, error: type) -> None:
    actor, version = town.actor(name), town.project("wheat").version
    for attempt in (
        lambda: change_project(town.store, actor, "wheat", version, "Mine"),
        lambda: add_member(town.store, actor, "wheat", "eva"),
        lambda: remove_member(town.store, actor, "wheat", "lia"),
        lambda: set_lead(town.store, actor, "wheat", "ana", lead=True),
        lambda: archive_project(town.store, actor, "wheat"),
    ):
        with pytest.raises(error):
            attempt()
    with pytest.raises(NotFound):
        create_project(town.store, town.site, actor, NewProject("oats", "Oats", "plants"))
    assert {row.result for row in town.audited(actor=name)} == {"refused"}
    assert len(town.audited(actor=name)) == 6
    assert town.members("wheat") == {"lia": True, "ana": False}


def test_labs_are_the_administrators_and_their_titles_the_leads(town: Town) -> None:
    lia = town.actor("lia")
    assert change_lab(town.store, lia, "plants", "Plant lab").title == "Plant lab"
    for attempt in (
        lambda: create_lab(town.store, lia, "stars", "Stars"),
        lambda: add_lab_lead(town.store, lia, "plants", "ana"),
        lambda: remove_lab_lead(town.store, lia, "plants", "lia"),
        lambda: archive_lab(town.store, lia, "plants"),
    ):
        with pytest.raises(Forbidden):
            attempt()
    with pytest.raises(NotFound):
        change_lab(town.store, town.actor("ana"), "plants", "Mine")


def test_the_last_lead_stays(town: Town) -> None:
    for attempt in (
        lambda: remove_member(town.store, town.actor("lia"), "wheat", "lia"),
        lambda: set_lead(town.store, ROOT, "wheat", "lia", lead=False),
    ):
        with pytest.raises(PeopleError, match="only lead") as refused:
            attempt()
        assert "Make somebody else a lead first" in refused.value.fix
    set_lead(town.store, town.actor("lia"), "wheat", "ana", lead=True)
    disable_account(town.store, ROOT, "ana")
    with pytest.raises(PeopleError, match="only lead"):  # one who cannot sign in leads nothing
        remove_member(town.store, town.actor("lia"), "wheat", "lia")


def test_two_leads_leaving_at_once_leave_one(town: Town) -> None:
    set_lead(town.store, ROOT, "wheat", "ana", lead=True)
    barrier, refused = threading.Barrier(2), []

    def leave(name: str) -> None:
        actor = town.actor(name)
        barrier.wait()
        try:
            remove_member(town.store, actor, "wheat", name)
        except PeopleError as error:
            refused.append(error)

    threads = [threading.Thread(target=leave, args=(name,)) for name in ("lia", "ana")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert list(town.members("wheat").values()) == [True]


def test_two_people_at_one_project_the_second_is_told_who_came_first(town: Town) -> None:
    read = town.project("wheat").version
    change_project(town.store, town.actor("lia"), "wheat", read, "Wheat of winter")
    with pytest.raises(StaleVersion, match=r"lia changed this project at \d\d:\d\d:\d\d UTC on .*Wheat of winter"):
        change_project(town.store, ROOT, "wheat", read, "Wheat of summer")
    assert town.project("wheat").title == "Wheat of winter"


def test_a_removed_member_is_outside_at_once_and_their_server_is_named(town: Town) -> None:
    running = [("ana", "wheat"), ("lia", "wheat"), ("ana", "no-such")]
    remove_member(town.store, town.actor("ana"), "wheat", "ana")  # everybody may leave
    with town.store.read() as session:
        assert outsiders(session, running) == [("ana", "wheat"), ("ana", "no-such")]
    disable_account(town.store, ROOT, "lia")
    with town.store.read() as session:
        assert ("lia", "wheat") in outsiders(session, running)
        last = grants(session, Wanted(project_ids=(town.project("wheat").id,)))[0]
    assert last.kind == "membership.ended"


def test_a_personal_project_stays_its_owners(town: Town) -> None:
    with town.store.read() as session:
        own = next(each for each in projects.projects_of(session, town.actor("ana").person_id or 0) if each.personal)
    with pytest.raises(Forbidden, match="its owner's alone"):
        add_member(town.store, town.actor("ana"), own.slug, "eva")
    with pytest.raises(NotFound):
        add_member(town.store, ROOT, own.slug, "eva")
    with pytest.raises((Forbidden, PeopleError)):
        remove_member(town.store, town.actor("ana"), own.slug, "ana")


@pytest.mark.parametrize("name", ["nobody-here", "Ana", "ana ", "", "\0", "\ud800", "a" * 5000])
def test_only_an_exact_name_is_added(town: Town, name: str) -> None:
    with pytest.raises(PeopleError, match="There is no account") as refused:
        add_member(town.store, town.actor("lia"), "wheat", name)
    assert len(refused.value.what) < 100


def test_archiving_closes_and_opens(town: Town) -> None:
    with pytest.raises(PeopleError, match=r"has projects in use: rye, wheat|has projects in use: "):
        archive_lab(town.store, ROOT, "plants")
    for slug in ("wheat", "rye"):
        archive_project(town.store, town.actor("lia"), slug)
    with pytest.raises(PeopleError, match="is archived"):
        add_member(town.store, town.actor("lia"), "wheat", "eva")
    archive_lab(town.store, ROOT, "plants")
    with pytest.raises(PeopleError, match="lab “plants” is archived"):
        create_project(town.store, town.site, ROOT, NewProject("oats", "Oats", "plants"))
    with pytest.raises(PeopleError, match="is archived"):
        archive_project(town.store, ROOT, "wheat", archived=False)
    archive_lab(town.store, ROOT, "plants", archived=False)
    assert archive_project(town.store, ROOT, "wheat", archived=False).archived_at is None
