"""Facts are read from a real database in one transaction."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bancada_hub.errors import LaunchRefused
from bancada_hub.launch.choices import Choices
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.facts import preparation, read_facts
from bancada_hub.launch.plan import plan
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store import catalog, people, projects, steps
from bancada_hub.store.database import migrate, open_store

BUILT = catalog.NewRevision("sha256:" + "c3" * 32, "t", "c3c3c3c3c3c3", "server-1", "s", "l", "3.11.2", 1)


@pytest.fixture
def context(tmp_path: Path) -> LaunchContext:
    places, site = Places(tmp_path), Site()
    places.site.mkdir()
    migrate(site, places)
    return LaunchContext("0123abcd", site, places, open_store(site, places), "unix:///nowhere", "bancada-0123abcd")


def test_facts_say_who_where_and_what(context: LaunchContext) -> None:
    with context.store.write() as session:
        first = people.FirstNumbers(2_000_000, 2_000_000)
        ana = people.add_person(session, "ana", None, admin=False, first=first)
        people.add_person(session, "eva", None, admin=False, first=first)
        main = projects.add_project(session, "main", "Main", first_gid=2_000_000)
        projects.add_member(session, main.id, ana.id)
        catalog.put_image(session, "minimal", "Minimal", "")
        catalog.publish_revision(session, "minimal", BUILT)
    made = plan(read_facts(context, "ana", "main"), Choices())
    assert (made.uid, made.gid, made.image_digest) == (ana.uid, main.gid, BUILT.digest)
    with pytest.raises(LaunchRefused) as refused:
        plan(read_facts(context, "eva", "main"), Choices())
    assert refused.value.reason == "not-a-member"


def test_nothing_starts_in_an_archived_project_nor_before_a_password_is_ones_own(context: LaunchContext) -> None:
    with context.store.write() as session:
        first = people.FirstNumbers(2_000_000, 2_000_000)
        ana = people.add_person(session, "ana", None, admin=False, first=first)
        main = projects.add_project(session, "main", "Main", first_gid=2_000_000)
        projects.add_member(session, main.id, ana.id)
        catalog.put_image(session, "minimal", "Minimal", "")
        catalog.publish_revision(session, "minimal", BUILT)
        people.set_password(session, ana.id, people.NewPassword("x", must_change=True))
    assert reason(context) == "password-to-change"
    with context.store.write() as session:
        people.set_password(session, ana.id, people.NewPassword("x", must_change=False))
        projects.set_archived(session, main.id, archived=True)
    assert reason(context) == "archived"
    with context.store.write() as session:
        people.set_disabled(session, ana.id, disabled=True)
    assert reason(context) == "disabled"


def reason(context: LaunchContext) -> str:
    """Return why ana's start in main is refused."""
    with pytest.raises(LaunchRefused) as refused:
        plan(read_facts(context, "ana", "main"), Choices())
    return refused.value.reason


def test_memory_becomes_bytes_and_shm_its_share(context: LaunchContext) -> None:
    found = read_facts(context, "nobody-here", "").sizes.m
    assert (found.memory_bytes, found.shm_bytes) == (4 * 1024**3, 2 * 1024**3)


def test_an_image_in_preparation_is_told_with_its_step(context: LaunchContext) -> None:
    with context.store.write() as session:
        steps.plan_steps(session, [steps.NewStep("base", "Base", 30), steps.NewStep("image", "Image minimal", 40)])
        steps.begin_step(session, "base")
        steps.end_step(session, "base")
        steps.begin_step(session, "image")
    words = read_facts(context, "ana", "main").preparation
    assert words.startswith("The image is still being prepared: step 2 of 2, Image minimal, about")


def test_a_failed_or_abandoned_preparation_is_not_called_progress() -> None:
    now = datetime.now(UTC)
    running = steps.Step("image", 1, "Image", steps.RUNNING, "", 40, now, None, now)
    assert "step 1 of 1" in preparation([running], now)
    assert "has stopped" in preparation([running], now + timedelta(minutes=5))
    assert "failed" in preparation([replace(running, state=steps.FAILED)], now)
    assert preparation([replace(running, state=steps.DONE)], now) == ""
