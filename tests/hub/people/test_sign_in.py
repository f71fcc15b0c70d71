"""Signing in: what is counted, locked, told, and changed."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from bancada_hub.errors import Forbidden, PeopleError
from bancada_hub.people.accounts import change_password, sign_in
from bancada_hub.people.sign_in import LOCKED_FOR, WRONG_IN_A_ROW
from bancada_hub.store import people
from tests.hub.domain import ORIGIN, PASSWORD, Town

NEW = "another long password"


def wrong(town: Town, times: int) -> list[str]:
    return [sign_in(town.store, "ana", f"wrong {n}", ORIGIN).problem.value for n in range(times)]


def test_ten_wrong_passwords_lock_and_then_nothing_tells_whether_one_was_right(town: Town) -> None:
    assert wrong(town, WRONG_IN_A_ROW) == ["wrong"] * (WRONG_IN_A_ROW - 1) + ["locked"]
    right, false = (sign_in(town.store, "ana", password, ORIGIN) for password in (PASSWORD, "wrong"))
    assert right == false
    assert right.locked_until is not None
    assert timedelta(0) < right.locked_until - datetime.now(UTC) <= LOCKED_FOR
    assert sign_in(town.store, "eva", PASSWORD, ORIGIN).person is not None


def test_a_right_password_between_starts_the_count_again(town: Town) -> None:
    wrong(town, WRONG_IN_A_ROW - 1)
    assert sign_in(town.store, "ana", PASSWORD, ORIGIN).person is not None
    assert set(wrong(town, WRONG_IN_A_ROW - 1)) == {"wrong"}


def test_a_lock_ends_by_itself(town: Town) -> None:
    wrong(town, WRONG_IN_A_ROW)
    with town.store.write() as session:
        ana = people.find_person(session, "ana")
        assert ana is not None
        people.count_sign_in(session, ana.id, failed=0, locked_until=datetime.now(UTC) - timedelta(seconds=1))
    assert sign_in(town.store, "ana", PASSWORD, ORIGIN).person is not None


def test_attempts_at_the_same_time_are_counted_all(town: Town) -> None:
    """However many try at once, no more than ten are answered with right or wrong."""
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.extend(wrong(town, 4))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count("wrong") == WRONG_IN_A_ROW - 1
    assert found.count("locked") == 16 - (WRONG_IN_A_ROW - 1)


def test_signing_in_leaves_a_trace_and_made_up_names_leave_none(town: Town) -> None:
    sign_in(town.store, "ana", PASSWORD, ORIGIN)
    sign_in(town.store, "ana", "wrong", ORIGIN)
    before = len(town.audited())
    sign_in(town.store, "no-such", PASSWORD, ORIGIN)
    assert len(town.audited()) == before
    rows = town.audited(subject="person:ana", action="person.sign-in")
    assert [(row.result, row.origin) for row in rows] == [("refused", ORIGIN), ("done", ORIGIN)]
    assert all(PASSWORD not in str(row) for row in town.audited())


def test_changing_the_password_needs_the_old_one_and_ends_the_duty_to_change(town: Town) -> None:
    person = town.add("gil")
    assert person.must_change_password
    actor = town.actor("gil")
    with pytest.raises(Forbidden, match="old password is not right"):
        change_password(town.store, actor, "wrong", NEW)
    with pytest.raises(PeopleError, match="is the old one"):
        change_password(town.store, actor, PASSWORD, PASSWORD)
    with pytest.raises(PeopleError, match="15 are needed"):
        change_password(town.store, actor, PASSWORD, "short")
    change_password(town.store, actor, PASSWORD, NEW)
    assert sign_in(town.store, "gil", PASSWORD, ORIGIN).problem == "wrong"
    outcome = sign_in(town.store, "gil", NEW, ORIGIN)
    assert outcome.person is not None
    assert not outcome.must_change


def test_wrong_old_passwords_lock_too(town: Town) -> None:
    for _ in range(WRONG_IN_A_ROW - 1):
        with pytest.raises(Forbidden, match="not right"):
            change_password(town.store, town.actor("ana"), "wrong", NEW)
    with pytest.raises(Forbidden, match="wrong passwords in a row"):
        change_password(town.store, town.actor("ana"), "wrong", NEW)
    with pytest.raises(Forbidden, match="wrong passwords in a row"):
        change_password(town.store, town.actor("ana"), PASSWORD, NEW)
