"""`bancada queue`, and shares by `lab` and `project`: the real command over simulated cards, its words and its JSON."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bancada_hub.installation import Facts, keep_facts
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.places import Places
from bancada_hub.projects.labs import create_lab
from bancada_hub.projects.projects import NewProject, create_project
from bancada_hub.roles import Actor
from bancada_hub.site import load_site
from bancada_hub.store.database import migrate, open_store

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    places, line = Places(tmp_path), Actor.command_line()
    places.site.mkdir()
    places.settings_file.write_text('engine = "process"\nport = 61234\n')
    keep_facts(places, Facts(site_id="0a1b2c3d", simulated_gpus=2))
    site = load_site(places)
    migrate(site, places)
    store = open_store(site, places)
    create_lab(store, line, "plants", "Plants")
    create_project(store, site, line, NewProject("wheat", "Wheat", "plants"))
    for name in ("ana", "bea", "gil"):
        add_account(store, site, line, NewAccount(name, password="four words for tests", project_slugs=("wheat",)))
    store.engine.dispose()

    def bancada(*words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "bancada.cli", *words, "--data", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return bancada


def told(done: subprocess.CompletedProcess) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_hold_and_the_third_waits_with_its_reason_until_one_gives_up(run: Run) -> None:
    assert run("queue", "list").stdout == "2 of 2 cards are free.\nNobody is waiting.\n"
    first = told(run("queue", "ask", "ana", "wheat", "--hold", "--json"))
    assert first["granted"] is True
    assert told(run("queue", "ask", "bea", "wheat", "--hold", "--json"))["granted"] is True
    third = run("queue", "ask", "gil", "wheat", "--hours", "2", "--purpose", "training")
    assert third.stdout == "Request 3 waits. Why: ./bancada queue why 3\n"
    shown = run("queue", "list").stdout
    assert "0 of 2 cards are free." in shown
    assert "1 card, training" in shown
    why = run("queue", "why", "3").stdout
    assert why.startswith("gil in wheat, 1 card, training: place 1 of 1.")
    assert told(run("queue", "why", "3", "--json"))["reason"] in why
    (waits,) = told(run("queue", "list", "--json"))["waits"]
    assert (waits["person"], waits["place"], waits["purpose"]) == ("gil", 1, "training")
    assert told(run("queue", "cancel", "1", "--json")) == {"request": 1, "cancelled": True}
    assert run("queue", "cancel", "3").stdout == "Request 3 is cancelled.\n"
    assert "Nobody is waiting." in run("queue", "list").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("why", "1"), "There is no request 1."),
        (("why", "-4"), "There is no request -4."),
        (("cancel", "99999999999"), "There is no request 99999999999 that waits."),
        (("ask", "ana", "rye"), "ana has no project “rye”."),
        (("ask", "nobody", "wheat"), "nobody has no project “wheat”."),
        (("ask", "ana", "wheat", "--cards", "3"), "Cards asked for: 3; of that size can be had: 2."),
        (("ask", "ana", "wheat", "--cards", "-1"), "The number of cards has to be a whole number"),
        (("ask", "ana", "wheat", "--gib", "500"), "No card has 500 GiB of memory."),
        (("ask", "ana", "wheat", "--gib", "nan"), "“memory_gib” has to be a number between 0 and"),
        (("ask", "ana", "wheat", "--hours", "1e9"), "“hours” has to be a number between 0 and"),
        (("ask", "ana", "wheat", "--mig", "9g.90gb"), "There is no part of a card of the size 9g.90gb."),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(run: Run, words: tuple[str, ...], said: str) -> None:
    done = run("queue", *words)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {said}")
    assert "Traceback" not in done.stderr
    assert told(run("queue", "list", "--json"))["waits"] == []


def test_shares_are_set_tried_and_obeyed(run: Run) -> None:
    assert run("lab", "limits", "plants").stdout == "GPUs at once: no limit; weight 1\n"
    assert told(run("lab", "limits", "plants", "--gpus", "2", "--json"))["max_gpus"] == 2
    assert "not possible: The guarantees in lab plants sum to 3; its ceiling is 2." in (
        run("project", "limits", "wheat", "--guarantee", "3", "--dry-run").stdout
    )
    assert told(run("project", "limits", "wheat", "--json"))["gpu_guarantee"] == 0
    assert told(run("project", "limits", "wheat", "--gpus", "1", "--json"))["max_gpus"] == 1
    assert run("queue", "ask", "ana", "wheat", "--cards", "2").stderr.splitlines() == [
        "error: Cards asked for: 2; that is more than is allowed.",
        "The project may hold 1 at once.",
    ]
    made = told(
        run("project", "rule-add", "wheat", "--until", "2100-01-01", "--gpus", "2", "--note", "paper", "--json")
    )
    assert told(run("queue", "ask", "ana", "wheat", "--cards", "2", "--hold", "--json"))["granted"] is True
    assert "paper" in run("project", "rules", "wheat").stdout
    assert told(run("project", "rule-remove", str(made["rule"]), "--json"))["removed"] is True
    assert run("project", "rules").stdout == "Nothing holds for a time only.\n"
