"""The database: versions, migrations, and what the repositories promise."""

import sqlite3
import threading

import pytest
from alembic import command
from sqlalchemy import create_engine, inspect

from bancada_hub.errors import PeopleError, StoreError
from bancada_hub.people.accounts import NewAccount, add_account, sign_in
from bancada_hub.places import Places
from bancada_hub.projects.projects import NewProject, create_project
from bancada_hub.roles import Actor
from bancada_hub.secrets import secret
from bancada_hub.site import Site
from bancada_hub.store import catalog, database, labs, overlays, people, projects, servers, steps
from bancada_hub.store.database import connect, migrate, open_store
from bancada_hub.store.models import SCHEMA, Base

SITE = Site()
ROOT = Actor.command_line()
GOOD = "a long enough password"


@pytest.fixture
def places(tmp_path):
    made = Places(tmp_path)
    made.site.mkdir()
    return made


@pytest.fixture
def store(places):
    migrate(SITE, places)
    opened = open_store(SITE, places)
    yield opened
    opened.engine.dispose()


def test_a_database_that_was_never_set_up_says_what_to_run(places):
    with pytest.raises(StoreError, match=r"has not been set up yet\.\n?Run \./bancada up"):
        open_store(SITE, places)


def test_a_newer_database_is_refused_by_everybody(places, store):
    with sqlite3.connect(places.database_file) as file:
        file.execute("UPDATE alembic_version SET version_num = 'ffff'")
    for attempt in (open_store, migrate):
        with pytest.raises(StoreError, match="version ffff, which this release does not know: a newer Bancada"):
            attempt(SITE, places)


def test_migrating_twice_changes_nothing(places):
    assert migrate(SITE, places) is True
    assert migrate(SITE, places) is False


def shape(engine) -> dict:
    """Everything that a database says of its tables, for comparison."""
    found = inspect(engine)
    return {
        table: {
            "columns": {each["name"]: (str(each["type"]), each["nullable"]) for each in found.get_columns(table)},
            "key": found.get_pk_constraint(table)["constrained_columns"],
            "references": sorted(
                (*each["constrained_columns"], each["referred_table"]) for each in found.get_foreign_keys(table)
            ),
            "unique": sorted(each["column_names"] for each in found.get_unique_constraints(table)),
        }
        for table in found.get_table_names()
        if table != "alembic_version"
    }


def test_the_migrations_make_the_tables_that_the_models_describe(store, tmp_path):
    fresh = create_engine(
        f"sqlite:///{tmp_path}/fresh.sqlite", execution_options={"schema_translate_map": {SCHEMA: None}}
    )
    Base.metadata.create_all(fresh)
    assert shape(store.engine) == shape(fresh)
    fresh.dispose()


def test_the_database_file_is_private(places, store):
    assert places.database_file.stat().st_mode & 0o077 == 0


def test_two_writers_take_turns(store):
    """Read-then-write in two threads at once: without BEGIN IMMEDIATE one of them fails at once."""
    barrier, failures = threading.Barrier(2), []

    def add(name: str) -> None:
        barrier.wait()
        try:
            for number in range(20):
                add_account(store, SITE, ROOT, NewAccount(f"{name}{number}", password=GOOD))
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=add, args=(name,)) for name in "ab"]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert failures == []
    with store.read() as session:
        everybody = people.people(session)
    assert sorted(person.uid for person in everybody) == list(range(2_000_000, 2_000_040))


def test_everybody_gets_a_personal_project(store):
    person, password = add_account(store, SITE, ROOT, NewAccount("ana"))
    with store.read() as session:
        (personal,) = projects.projects_of(session, person.id)
    assert personal.personal
    assert personal.slug.startswith("me-")
    assert sign_in(store, "ana", password, "here").person.name == "ana"
    assert sign_in(store, "ana", "wrong", "here").problem == "wrong"
    assert sign_in(store, "nobody-here", password, "here").problem == "wrong"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Ana Lima", "Try “ana-lima”"),
        ("", "cannot be an account name"),
        ("root", "belongs to the system"),
        ("../etc", "cannot be an account name"),
        ("x" * 33, "1 to 32 characters"),
    ],
)
def test_names_that_nothing_could_carry_are_refused(store, name, said):
    with pytest.raises(PeopleError, match=said):
        add_account(store, SITE, ROOT, NewAccount(name))


def test_a_name_is_never_given_twice_and_a_failed_addition_leaves_nothing(store):
    add_account(store, SITE, ROOT, NewAccount("ana"))
    with pytest.raises(PeopleError, match="There is an account “ana” already"):
        add_account(store, SITE, ROOT, NewAccount("ana"))
    with pytest.raises(PeopleError, match="There is no project “atlantis” to join; nobody was added"):
        add_account(store, SITE, ROOT, NewAccount("bia", project_slugs=("atlantis",)))
    with store.read() as session:
        assert [person.name for person in people.people(session)] == ["ana"]


def test_a_short_password_is_refused(store):
    with pytest.raises(PeopleError, match="has 5 characters; 15 are needed"):
        add_account(store, SITE, ROOT, NewAccount("ana", password="abcde"))


def test_an_overlay_is_held_by_one_server_at_a_time(store):
    person, _ = add_account(store, SITE, ROOT, NewAccount("ana"))
    with store.write() as session:
        key = overlays.OverlayKey(1, person.id, "base")
        assert overlays.hold(session, key, "one")
        assert not overlays.hold(session, key, "two")
        assert overlays.held(session) == {"one": key}
        overlays.release(session, "one")
        assert overlays.hold(session, key, "two")


def test_publishing_a_revision_retires_the_one_before(store):
    def built(digest: str) -> catalog.NewRevision:
        return catalog.NewRevision(digest, "tag", "lower", "server", "0" * 64, "1" * 64, "3.11", 1)

    with store.write() as session:
        catalog.put_image(session, "minimal", "Minimal", "To begin with")
        catalog.publish_revision(session, "minimal", built("sha256:a"))
        catalog.publish_revision(session, "minimal", built("sha256:b"))
        assert [each.built.digest for each in catalog.published_revisions(session)] == ["sha256:b"]
        again = catalog.publish_revision(session, "minimal", built("sha256:a"))
        assert (again.id, again.state) == (1, catalog.PUBLISHED)


def test_a_step_whose_worker_died_is_known_as_stalled(store):
    with store.write() as session:
        steps.plan_steps(session, [steps.NewStep("base", "Base", 40)])
        steps.begin_step(session, "base")
        (step,) = steps.steps(session)
    assert not step.stalled(step.beat_at + steps.SILENCE)
    assert step.stalled(step.beat_at + 2 * steps.SILENCE)


def test_a_secret_is_made_once_and_private(tmp_path):
    value = secret(tmp_path / "secrets", "token")
    assert secret(tmp_path / "secrets", "token") == value
    assert len(bytes.fromhex(value)) == 32
    assert (tmp_path / "secrets" / "token").stat().st_mode & 0o777 == 0o600


def fill_at_0001(site: Site, places: Places) -> None:
    """Make a database as the release before labs made it, with people, a project and their ties."""
    store = connect(site, places)
    if site.database.url:
        database._make_schemas(store)
    config = database._alembic()
    schema = f"{SCHEMA}." if site.database.url else ""
    with store.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        for row in (
            "people VALUES (1, 'ana', 2000000, 'hash', true, false, '2026-01-02 03:04:05')",
            "projects VALUES (1, 'me-00000001', 'Personal', 2000000, 1, '2026-01-02 03:04:05')",
            "projects VALUES (2, 'wheat', 'Wheat', 2000001, NULL, '2026-01-02 03:04:05')",
            "members VALUES (1, 1, true)",
            "members VALUES (2, 1, false)",
            "overlays VALUES (1, 2, 1, 'base', 'server', '2026-01-02 03:04:05')",
        ):
            connection.exec_driver_sql(f"INSERT INTO {schema}{row}")
        for table in (
            ("people", "projects", "overlays") if schema else ()
        ):  # rows with numbers of their own do not count
            connection.exec_driver_sql(f"SELECT setval('{schema}{table}_id_seq', 2)")
    store.engine.dispose()


def check_migrated(site: Site, places: Places) -> None:
    assert migrate(site, places) is True
    store = open_store(site, places)
    with store.read() as session:
        ana = people.find_person(session, "ana")
        personal, wheat = projects.find_project(session, "me-00000001"), projects.find_project(session, "wheat")
        (lab,) = labs.labs(session)
        assert (ana.uid, ana.admin, ana.must_change_password, ana.locked_until) == (2_000_000, True, False, None)
        assert (personal.lab_id, wheat.lab_id, wheat.version, wheat.archived_at) == (None, lab.id, 1, None)
        assert (wheat.limits, lab.limits, lab.version) == (projects.ProjectLimits(), labs.LabLimits(), 1)
        assert (servers.held(session), servers.last_size(session, wheat.id, ana.id)) == ([], "")
        assert [each.slug for each in projects.projects_of(session, ana.id)] == ["wheat", "me-00000001"]
        assert overlays.held(session) == {"server": overlays.OverlayKey(2, 1, "base")}
    create_project(store, site, ROOT, NewProject("rye", "Rye", "lab"))  # numbers go on where they were
    with store.read() as session:
        assert projects.find_project(session, "rye").gid == 2_000_002
    store.engine.dispose()


def test_the_release_before_labs_keeps_its_data(places):
    fill_at_0001(SITE, places)
    check_migrated(SITE, places)
    assert len(list(places.backups.glob("bancada-*.sqlite"))) == 1


@pytest.mark.database
def test_the_release_before_labs_keeps_its_data_on_postgresql(places, postgres_url):
    site = Site(database={"url": postgres_url})
    fill_at_0001(site, places)
    check_migrated(site, places)


@pytest.mark.database
def test_postgresql_holds_both_in_schemas_of_their_own(places, postgres_url):
    site = Site(database={"url": postgres_url})
    assert migrate(site, places) is True
    opened = open_store(site, places)
    person, password = add_account(opened, site, ROOT, NewAccount("ana"))
    assert sign_in(opened, "ana", password, "here").person == person
    assert person.created_at.tzinfo is not None
    opened.engine.dispose()


def check_one_version_back_and_forth(site: Site, places: Places) -> None:
    """What an administrator does who must go back to the release before, and comes again."""
    fill_at_0001(site, places)
    migrate(site, places)
    store = connect(site, places)
    config = database._alembic()
    with store.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0002")
    assert not {"servers"} & set(inspect(store.engine).get_table_names(schema=SCHEMA if site.database.url else None))
    assert migrate(site, places) is True
    with open_store(site, places).read() as session:
        assert projects.find_project(session, "wheat").limits == projects.ProjectLimits()
    store.engine.dispose()


def test_the_newest_version_can_be_left_and_reached_again(places):
    check_one_version_back_and_forth(SITE, places)


def test_the_newest_version_can_be_left_and_reached_again_on_postgresql(places, postgres_url):
    check_one_version_back_and_forth(Site(database={"url": postgres_url}), places)


def test_an_unreachable_database_is_told_without_a_traceback(places):
    site = Site(database={"url": "postgresql://bancada@127.0.0.1:1/bancada"})
    with pytest.raises(StoreError, match=r"cannot be reached: .*refused"):
        migrate(site, places)
