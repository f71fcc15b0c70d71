"""What the command line refuses is on record too: what was asked for, and why not."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bancada_hub.installation import Facts, keep_facts
from bancada_hub.places import Places
from bancada_hub.site import load_site
from bancada_hub.store.database import migrate

WITH_BAD_TITLE = ("--title", "x" * 81, "--max-cpus", "2")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    places = Places(tmp_path_factory.mktemp("site"))
    places.site.mkdir()
    places.settings_file.write_text('engine = "process"\nport = 61234\n')
    keep_facts(places, Facts(site_id="0a1b2c3d"))
    migrate(load_site(places), places)
    for words in (("lab", "create", "plants"), ("project", "create", "wheat"), ("user", "add", "ana")):
        assert run(places.data, *words).returncode == 0
    return places.data


def run(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bancada.cli", *words, "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "action", "subject"),
    [
        (("user", "add", "Erik"), "person.add", "person:Erik"),
        (("lab", "create", "me-1"), "lab.create", "lab:me-1"),
        (("lab", "change", "plants", *WITH_BAD_TITLE), "lab.change", "lab:plants"),
        (("lab", "change", "plants", "--max-cpus", "-1"), "lab.limits", "lab:plants"),
        (("project", "create", "Oat 1"), "project.create", "project:Oat 1"),
        (("project", "change", "wheat", *WITH_BAD_TITLE), "project.change", "project:wheat"),
        (("project", "change", "wheat", "--max-memory-gib", "0"), "project.limits", "project:wheat"),
    ],
)
def test_a_refusal_is_on_record(data: Path, words: tuple[str, ...], action: str, subject: str) -> None:
    done = run(data, *words)
    assert done.returncode == 1, done.stdout
    with sqlite3.connect(Places(data).database_file) as file:
        rows = file.execute("SELECT action, subject, result FROM audit ORDER BY id DESC LIMIT 2").fetchall()
    assert rows[0] == (action, subject, "refused")
    assert rows[1] != rows[0], "once"
