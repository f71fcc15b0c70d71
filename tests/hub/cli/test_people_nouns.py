"""`bancada user|lab|project` on a site that does not run: the real command, its words and its JSON."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bancada_hub.installation import Facts, keep_facts
from bancada_hub.places import Places
from bancada_hub.site import load_site
from bancada_hub.store.database import migrate

Run = Callable[..., subprocess.CompletedProcess]
CODE = "<b>Wheat</b> '; DROP TABLE people;--"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    places = Places(tmp_path)
    places.site.mkdir()
    places.settings_file.write_text('engine = "process"\nport = 61234\n')
    keep_facts(places, Facts(site_id="0a1b2c3d"))
    migrate(load_site(places), places)

    def bancada(*words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "bancada.cli", *words, "--data", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return bancada


def told(done: subprocess.CompletedProcess) -> object:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_lab_a_project_and_its_people_from_the_command_line(run: Run) -> None:
    for name in ("lia", "ana"):
        run("user", "add", name)
    assert told(run("lab", "create", "plants", "--title", "Plants", "--json"))["leads"] == []
    assert told(run("lab", "add-lead", "plants", "lia", "--json")) == {"lab": "plants", "name": "lia", "lead": True}
    made = told(run("project", "create", "wheat", "--title", CODE, "--lead", "lia", "--json"))
    assert (made["title"], made["lab"], made["members"]) == (CODE, "plants", [{"name": "lia", "lead": True}])
    assert run("project", "add", "wheat", "ana").stdout == "ana is in the project wheat.\n"
    assert told(run("project", "lead", "wheat", "ana", "--json"))["lead"] is True
    assert told(run("project", "lead", "wheat", "ana", "--off", "--json"))["lead"] is False
    assert CODE in run("project", "list").stdout
    assert "lia" in run("project", "show", "wheat").stdout
    assert told(run("project", "change", "wheat", "--title", "Wheat", "--json"))["version"] == 2
    assert told(run("project", "remove", "wheat", "ana", "--json"))["member"] is False
    assert run("project", "ledger", "wheat").stdout.splitlines()[1].split()[1:] == ["membership.ended", "ana"]
    assert [(row["kind"], row["person"]) for row in told(run("project", "ledger", "wheat", "--json"))] == [
        ("membership.ended", "ana"),
        ("lead.ended", "ana"),
        ("lead.granted", "ana"),
        ("membership.granted", "ana"),
        ("membership.granted", "lia"),
    ]
    assert len(told(run("project", "ledger", "wheat", "--limit", "2", "--json"))) == 2
    assert "nothing new starts" in run("project", "archive", "wheat").stdout
    assert told(run("project", "archive", "wheat", "--undo", "--json"))["archived_at"] is None
    assert told(run("lab", "show", "plants", "--json"))["projects"] == ["wheat"]
    assert "Plant lab" in run("lab", "change", "plants", "--title", "Plant lab").stdout
    assert run("lab", "remove-lead", "plants", "lia").stdout == "lia no longer leads the lab plants.\n"
    (lab,) = told(run("lab", "list", "--json"))
    assert (lab["title"], lab["leads"]) == ("Plant lab", [])


def test_limits_of_a_lab_and_a_project_from_the_command_line(run: Run) -> None:
    run("lab", "create", "plants")
    run("project", "create", "wheat")
    said = run("lab", "change", "plants", "--max-memory-gib", "16", "--max-cpus", "8").stdout
    assert said == "The limits of the lab plants are set: memory of its servers: 16.0 GiB; CPU: 8 cores.\n"
    words = ("--max-memory-gib", "8.5", "--egress", "mirror", "--title", "Wheat", "--json")
    row = told(run("project", "change", "wheat", *words))
    assert (row["max_memory_bytes"], row["max_cpus"], row["egress"]) == (int(8.5 * 2**30), None, "mirror")
    row = told(run("project", "change", "wheat", "--max-cpus", "2", "--max-memory-gib", "none", "--json"))
    assert (row["max_memory_bytes"], row["max_cpus"], row["egress"], row["version"]) == (None, 2.0, "mirror", 4)
    assert "memory of its servers: no limit; CPU: 2 cores; egress: mirror" in run("project", "show", "wheat").stdout
    refused = run("project", "change", "wheat", "--max-memory-gib", "17")
    assert "The lab's projects may hold 16.0 GiB of memory together." in refused.stderr
    assert "may hold 2 cores, which is more" in run("lab", "change", "plants", "--max-cpus", "1").stderr
    assert told(run("lab", "change", "plants", "--max-memory-gib", "none", "--json"))["max_memory_bytes"] is None


def test_an_account_is_switched_off_and_on_and_gets_another_password(run: Run) -> None:
    added = told(run("user", "add", "ana", "--json"))
    assert "stops what runs" in run("user", "disable", "ana").stdout
    (row,) = told(run("user", "list", "--json"))
    assert (row["state"], row["must_change_password"]) == ("disabled", True)
    assert told(run("user", "enable", "ana", "--json")) == {"name": "ana", "disabled": False}
    assert told(run("user", "change", "ana", "--admin", "--json")) == {"name": "ana", "admin": True}
    assert "ana is the only administrator" in run("user", "change", "ana", "--no-admin").stderr
    run("user", "add", "bea", "--admin")
    assert "ana does not run the site." in run("user", "change", "ana", "--no-admin").stdout
    reset = told(run("user", "reset-password", "ana", "--json"))
    assert reset["password"] not in {"", added["password"]}


def test_doctor_finds_a_record_that_was_changed_by_hand(run: Run, tmp_path: Path) -> None:
    for name in ("ana", "lia"):
        run("user", "add", name)
    assert "the record of changes is whole; its last hash is" in run("doctor").stdout
    with sqlite3.connect(Places(tmp_path).database_file) as file:
        file.execute("UPDATE audit SET actor = 'nobody' WHERE id = 1")
    assert "Audit row 1 was altered after it was written." in run("doctor").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("user", "add", "Erik"), "Try “erik”"),
        (("user", "disable", "erik"), "There is no account “erik”"),
        (("lab", "create", "me-1"), "Choose another short name"),
        (("project", "create", "wheat"), "./bancada lab create SLUG"),
        (("project", "show", "no-such"), "There is no project “no-such”"),
        (("lab", "change", "no-such", "--title", "x"), "There is no lab “no-such”"),
        (("lab", "change", "no-such", "--max-cpus", "2"), "There is no lab “no-such”"),
        (("lab", "change", "no-such"), "Use --title, --max-memory-gib or --max-cpus."),
        (("project", "change", "no-such"), "Use --title, --max-memory-gib, --max-cpus or --egress."),
    ],
)
def test_what_is_refused_says_what_would_do(run: Run, words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", ["0", "-1", "1e9", "nan", "inf", "much", "true", ""])
def test_a_limit_that_cannot_be_changes_nothing(run: Run, number: str) -> None:
    run("lab", "create", "plants")
    for option in ("--max-memory-gib", "--max-cpus"):
        done = run("lab", "change", "plants", f"{option}={number}")
        assert done.returncode in {1, 2}
        assert "not possible" in done.stderr or "invalid limit value" in done.stderr
        assert "Traceback" not in done.stderr
    row = told(run("lab", "show", "plants", "--json"))
    assert (row["max_memory_bytes"], row["max_cpus"]) == (None, None)
