"""The demo's people, past, crowd and scenes; and that no other site has any of it."""

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bancada_hub.demo import crowd, town
from bancada_hub.demo.one_click import one_click_people
from bancada_hub.demo.scenes import SCENES, Here
from bancada_hub.gpus.board import read_board
from bancada_hub.gpus.lab import read_history, read_lab
from bancada_hub.gpus.simulated import simulated_inventory
from bancada_hub.installation import Facts, Installation
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store import leases, people, projects, trace
from bancada_hub.store.database import migrate, open_store

TESTS = Path(__file__).parents[2]


@pytest.fixture
def site(tmp_path):
    places = Places(tmp_path / "d")
    places.site.mkdir(parents=True)
    migrate(Site(), places)
    store = open_store(Site(), places)
    town.fill(store, Site())
    yield store
    store.engine.dispose()


def test_it_has_a_lab_three_projects_six_people_and_thirty_days_and_a_second_run_adds_nothing(site):
    with site.read() as session:
        before = (len(people.people(session)), len(projects.all_projects(session)), len(leases.ended_lengths(session)))
        history = read_history(session)
        assert trace.verify(session) == []
        assert leases.live_leases(session) == []
    assert before[:2] == (6, 3)
    assert before[2] > 100
    assert history.lengths
    town.fill(site, Site())
    with site.read() as session:
        after = (len(people.people(session)), len(projects.all_projects(session)), len(leases.ended_lengths(session)))
    assert after == before


def test_the_crowd_takes_all_cards_leaves_somebody_waiting_and_gives_cards_back(site):
    rng, now_s, seen = random.Random(1), time.time(), set()
    for tick in range(120):
        step = crowd.act(site, rng, now_s + tick * crowd.TICK_S)
        if step is not None:
            seen.add("gives back" if step.give_back else "asks")
        if tick == 20:
            with site.read() as session:
                lab = read_lab(session, simulated_inventory(town.CARDS))
                board = read_board(session, lab, None, now_s + tick * crowd.TICK_S)
            assert board.free == 0
            assert board.waits
    assert seen == {"gives back", "asks"}
    with site.read() as session:
        rows = trace.audit_entries(session, trace.Filter(action="gpu."))
    assert {row.origin for row in rows} == {"demo"}
    assert {row.actor for row in rows} <= {each.name for each in town.PEOPLE if each.crowd}


def test_the_crowd_never_acts_for_a_visitor():
    rng = random.Random(2)
    taken: list[crowd.Open] = []
    for number in range(crowd.OPEN_MOST):
        step = crowd.next_step(taken, 0.0, rng)
        assert step is not None
        taken.append(crowd.Open(number + 1, step.person, step.project, None))
    assert {each.person for each in taken} <= {each.name for each in town.PEOPLE if each.crowd}
    assert crowd.next_step(taken, 0.0, rng) is None, "enough wait"
    held = [replace(taken[0], since_s=0.0), *taken[1:]]
    assert crowd.next_step(held, crowd.LONGEST_S + 1, rng) == crowd.Step(taken[0].person, give_back=1)


@pytest.mark.parametrize(
    ("demo", "bind", "people_there"),
    [(True, "127.0.0.1", 3), (True, "0.0.0.0", 0), (True, "192.0.2.7", 0), (False, "127.0.0.1", 0)],
)
def test_one_click_is_for_a_demo_on_its_own_machine_alone(tmp_path, demo, bind, people_there):
    site = Site().model_copy(update={"bind": bind})
    installation = Installation(Places(tmp_path), site, Facts("0a1b2c3d", demo=demo))
    assert len(one_click_people(installation)) == people_there


def test_every_scene_names_a_test_that_is_there_and_says_what_is_not_real():
    for scene in SCENES:
        assert (TESTS / scene.proof).is_file(), scene.proof
        assert "def test" in (TESTS / scene.proof).read_text()
        if scene.here is not Here.REAL:
            assert scene.why, scene.claim
        assert bool(scene.look) == (scene.here is not Here.NOT_SHOWN), scene.claim
