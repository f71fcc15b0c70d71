"""Accounts: names are keys, numbers are given once, and what an administrator does is put on record."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.errors import Forbidden, NotFound, PeopleError
from bancada_hub.naming import ACCOUNT
from bancada_hub.people.accounts import (
    NewAccount,
    add_account,
    check_name,
    disable_account,
    enable_account,
    reset_password,
    set_admin,
    set_preferences,
    sign_in,
)
from bancada_hub.people.passwords import fits, hash_password
from bancada_hub.projects.projects import add_member
from bancada_hub.store import people
from bancada_hub.store.notices import unseen_notices
from tests.hub.domain import ORIGIN, PASSWORD, ROOT, Town, refusal


@given(st.text(max_size=40))
def test_every_name_is_taken_as_it_is_or_refused(name: str) -> None:
    """Field case D13: what is taken is exactly what was typed, and what differs in case is never taken."""
    refused = refusal(lambda: check_name(name))
    if refused:
        assert refused.what.isprintable()
        assert refused.fix
        return
    assert ACCOUNT.fullmatch(name)
    assert name == name.lower()


@pytest.mark.parametrize("name", ["Erik", "ERIK", "erik@a.com", " erik", "erik\n", "eri\u212a", "e\u0301rik", "erik\0"])
def test_the_second_spelling_of_a_name_is_refused_and_signs_nobody_in(town: Town, name: str) -> None:
    town.quickly("erik")
    with pytest.raises(PeopleError, match="cannot be an account name"):
        add_account(town.store, town.site, ROOT, NewAccount(name, password=PASSWORD))
    assert sign_in(town.store, name, PASSWORD, ORIGIN).problem == "wrong"
    assert sign_in(town.store, "erik", PASSWORD, ORIGIN).person is not None


def test_a_uid_is_never_given_again_not_even_after_a_restored_backup(town: Town) -> None:
    first = town.add("gil")
    disable_account(town.store, ROOT, "gil")
    town.store.places.home(first.uid + 1).mkdir(parents=True)
    town.store.places.state(first.uid + 2).mkdir(parents=True)
    assert town.add("ivo").uid == first.uid + 3


def test_only_an_administrator_manages_people_and_a_try_is_put_on_record(town: Town) -> None:
    lead = town.actor("lia")
    with pytest.raises(Forbidden, match="Only administrators"):
        add_account(town.store, town.site, lead, NewAccount("gil", password=PASSWORD))
    for attempt in (disable_account, enable_account, reset_password):
        with pytest.raises(Forbidden):
            attempt(town.store, lead, "ana")
    refused = town.audited(actor="lia", action="person.")
    assert {(row.action, row.result, row.origin) for row in refused} == {
        ("person.add", "refused", ORIGIN),
        ("person.disable", "refused", ORIGIN),
        ("person.enable", "refused", ORIGIN),
        ("person.reset-password", "refused", ORIGIN),
    }
    with town.store.read() as session:
        assert people.find_person(session, "gil") is None


def test_a_disabled_person_is_nobody_until_enabled(town: Town) -> None:
    actor = town.actor("lia")
    disable_account(town.store, ROOT, "lia")
    assert sign_in(town.store, "lia", PASSWORD, ORIGIN).problem == "disabled"
    assert sign_in(town.store, "lia", "wrong", ORIGIN).problem == "wrong"
    with pytest.raises(NotFound):  # a page that was open before: what it asks for is checked against the database
        add_member(town.store, actor, "wheat", "eva")
    enable_account(town.store, ROOT, "lia")
    assert sign_in(town.store, "lia", PASSWORD, ORIGIN).person is not None


def test_the_last_administrator_cannot_be_switched_off(town: Town) -> None:
    town.add("adm", admin=True)
    with pytest.raises(PeopleError, match="adm is the only administrator"):
        disable_account(town.store, ROOT, "adm")
    town.add("bea", admin=True)
    assert disable_account(town.store, town.actor("bea"), "adm").disabled
    with pytest.raises(PeopleError, match="bea is the only administrator"):
        set_admin(town.store, ROOT, "bea", admin=False)


def test_who_runs_the_site_changes_at_once_is_told_and_put_on_record(town: Town) -> None:
    town.add("adm", admin=True)
    assert set_admin(town.store, town.actor("adm"), "ana", admin=True).admin
    assert set_admin(town.store, town.actor("ana"), "adm", admin=False).name == "adm"
    with pytest.raises(Forbidden):
        set_admin(town.store, town.actor("adm"), "adm", admin=True)
    with pytest.raises(NotFound):
        set_admin(town.store, ROOT, "nobody", admin=True)
    rows = town.audited(action="person.admin")
    assert [(row.actor, row.subject, row.result) for row in rows if row.actor != ROOT.name] == [
        ("adm", "person:adm", "refused"),
        ("ana", "person:adm", "done"),
        ("adm", "person:ana", "done"),
    ]
    with town.store.read() as session:
        ana = people.find_person(session, "ana")
        assert ana is not None
        assert any("run this site now" in notice.text for notice in unseen_notices(session, ana.id))


def test_of_two_administrators_who_take_it_from_each_other_at_once_one_stays(town: Town) -> None:
    for name in ("adm", "bea"):
        town.add(name, admin=True)
    pairs = [("adm", "bea"), ("bea", "adm")]

    def take(pair: tuple[str, str]) -> str:
        try:
            set_admin(town.store, town.actor(pair[0]), pair[1], admin=False)
        except (PeopleError, Forbidden) as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(take, pairs))
    assert sorted(map(bool, said)) == [False, True]
    with town.store.read() as session:
        assert len(people.admins(session)) == 1


def test_a_new_password_opens_a_locked_account_and_has_to_be_changed(town: Town) -> None:
    for _ in range(10):
        sign_in(town.store, "ana", "wrong", ORIGIN)
    password = reset_password(town.store, ROOT, "ana")
    assert sign_in(town.store, "ana", PASSWORD, ORIGIN).problem == "wrong"
    assert sign_in(town.store, "ana", password, ORIGIN).must_change


def test_preferences_are_ones_own_and_code_in_a_name_is_kept_as_it_is(town: Town) -> None:
    code = '<script>alert("ç")</script>{{ 7*7 }}%(x)s'
    person = set_preferences(town.store, town.actor("ana"), "pt-BR", "dark", code)
    assert (person.language, person.theme, person.shown_name) == ("pt-BR", "dark", code)
    for language, theme, name in (("de", "", None), ("", "pink", None), ("", "", "a\u202eb"), ("", "", " \u200d ")):
        with pytest.raises(PeopleError):
            set_preferences(town.store, town.actor("ana"), language, theme, name)


def test_a_password_is_one_however_a_keyboard_composes_it() -> None:
    hashed = hash_password("cora\u00e7\u00e3o de estudante")
    assert fits(hashed, "corac\u0327a\u0303o de estudante")
    assert not fits(hashed, "x" * 10_000_000)
    assert not fits(hashed, "\ud800" * 20)
    for impossible in ("short", "x" * 257, "\ud800" * 20):
        with pytest.raises(PeopleError):
            hash_password(impossible)
