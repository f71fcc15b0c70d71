"""The site's preparation: computed, said in words, shown to strangers, people and admins."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import requests

from bancada_hub.console.preparation import Preparation, Progress, describe, summarise
from bancada_hub.store.models import RevisionRow
from bancada_hub.store.steps import DONE, FAILED, RUNNING, WAITING, Step
from bancada_hub.ui.language import words
from tests.hub.console.running import Browser, RunningSite, clear_steps, publish, set_steps

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def step(position: int, state: str, *, ago_s: float = 0, silent_s: float = 0, ended_ago_s: float | None = None) -> Step:
    begun = None if state == WAITING else NOW - timedelta(seconds=ago_s)
    ended = NOW - timedelta(seconds=ended_ago_s or 0) if state in {DONE, FAILED} else None
    beat = NOW - timedelta(seconds=silent_s) if state == RUNNING else None
    return Step(f"k{position}", position, f"Step {position}", state, "", 30.0, begun, ended, beat)


def text(preparation: Preparation, language: str = "en") -> str:
    return describe(preparation, words(language))


def test_a_running_step_tells_its_place_and_the_time_left() -> None:
    found = summarise([step(1, DONE), step(2, RUNNING, ago_s=10), step(3, WAITING)], published=False, now=NOW)
    assert (found.progress, found.left_s, found.done_ratio) == (Progress.WORKING, 50.0, round(40 / 90, 3))
    assert text(found) == "Preparing this site: step 2 of 3, step 2, about 50 s left."
    assert text(found, "pt_BR") == "Preparando este site: passo 2 de 3, step 2, faltam cerca de 50 s."


def test_names_keep_their_capitals_inside_a_sentence() -> None:
    named = replace(step(1, RUNNING), title="JupyterLab and what it needs")
    found = summarise([named], published=False, now=NOW)
    assert text(found) == "Preparing this site: step 1 of 1, JupyterLab and what it needs, about 30 s left."
    assert ", JupyterLab e o que ele precisa," in text(found, "pt_BR")


def test_a_step_that_outlasts_its_guess_promises_nothing() -> None:
    found = summarise([step(1, RUNNING, ago_s=31)], published=False, now=NOW)
    assert found.left_s is None
    assert text(found) == "Preparing this site: step 1 of 1, step 1, which takes longer than usual."


def test_a_failed_step() -> None:
    found = summarise([step(1, DONE), step(2, FAILED, ago_s=5), step(3, WAITING)], published=False, now=NOW)
    assert found.progress is Progress.FAILED
    assert text(found) == "Preparing this site failed at step 2 of 3: step 2."


def test_a_step_whose_worker_is_gone_has_stopped() -> None:
    found = summarise([step(1, RUNNING, ago_s=100, silent_s=31)], published=False, now=NOW)
    assert found.progress is Progress.STALLED
    assert text(found) == "Preparing this site stopped at step 1 of 1: run ./bancada up to go on."


def test_a_worker_that_ends_between_two_steps_has_stopped_too() -> None:
    fresh = summarise([step(1, DONE, ended_ago_s=2), step(2, WAITING)], published=False, now=NOW)
    stale = summarise([step(1, DONE, ended_ago_s=60), step(2, WAITING)], published=False, now=NOW)
    assert (fresh.progress, stale.progress) == (Progress.WORKING, Progress.STALLED)


def test_a_site_without_steps_is_ready_only_with_an_image() -> None:
    assert summarise([], published=True, now=NOW).progress is Progress.READY
    found = summarise([], published=False, now=NOW)
    assert found.progress is Progress.NOT_BEGUN
    assert text(found) == "This site has not been prepared yet: run ./bancada up on the machine."


@pytest.fixture
def unpublished(running: RunningSite) -> Iterator[RunningSite]:
    with running.store.write() as session:
        for row in session.query(RevisionRow):
            row.state = "retired"
    yield running
    publish(running.store)
    clear_steps(running.store)


def test_strangers_see_the_progress_and_no_more(unpublished: RunningSite) -> None:
    set_steps(unpublished.store, running="minimal")
    reply = requests.get(unpublished.url + "/services/bancada/api/preparation", timeout=30)
    found = reply.json()
    assert (found["state"], found["step"], found["steps"]) == ("working", 3, 4)
    assert found["text"].startswith("Preparing this site: step 3 of 4, building minimal, about ")
    assert set(found) == {"state", "step", "steps", "title", "left_s", "done_ratio", "text"}
    portuguese = requests.get(reply.url, headers={"Accept-Language": "pt-BR"}, timeout=30).json()
    assert portuguese["text"].startswith("Preparando este site: passo 3 de 4")


def test_admins_see_why_it_failed_and_others_whom_to_ask(unpublished: RunningSite) -> None:
    set_steps(unpublished.store, failed="server", error="The index /simple answered 403.")
    stranger = requests.get(unpublished.url + "/services/bancada/api/preparation", timeout=30)
    assert "403" not in stranger.text
    admin, ana = Browser(unpublished), Browser(unpublished)
    page = admin.sign_in("admin").text
    assert "The index /simple answered 403." in page
    assert '<code class="command">./bancada up</code>' in page
    page = ana.sign_in("ana").text
    assert "The index" not in page
    assert "The person who runs this site can mend it." in page


def test_nothing_starts_before_there_is_an_image_and_the_refusal_is_the_plans(unpublished: RunningSite) -> None:
    set_steps(unpublished.store, running="base")
    ana = Browser(unpublished)
    page = ana.sign_in("ana").text
    assert "No image yet" in page
    assert 'id="start-optics" disabled' in page
    reply = ana.api("POST", "projects/optics/start", json={})
    assert reply.status_code == 409
    assert reply.json()["message"].startswith("The image is still being prepared: step 1 of 4, Base system")


def test_a_ready_site_shows_no_preparation(running: RunningSite) -> None:
    assert requests.get(running.url + "/services/bancada/api/preparation", timeout=30).json()["state"] == "ready"
    ana = Browser(running)
    assert "Preparing" not in ana.sign_in("ana").text
