"""`bancada gpu out|back|share|reserve|…` on a site that does not run, with simulated cards: words, JSON, refusals."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bancada_hub.gpus.simulated import uuid_of
from bancada_hub.installation import Facts, keep_facts
from bancada_hub.places import Places
from bancada_hub.site import load_site
from bancada_hub.store.database import migrate

Run = Callable[..., subprocess.CompletedProcess]
FIRST = uuid_of(0)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    places = Places(tmp_path)
    places.site.mkdir()
    places.settings_file.write_text('engine = "process"\nport = 61234\n')
    keep_facts(places, Facts(site_id="0a1b2c3d", simulated_gpus=2))
    migrate(load_site(places), places)

    def bancada(*words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "bancada.cli", *words, "--data", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return bancada


def told(done: subprocess.CompletedProcess) -> object:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_card_is_marked_and_listed_with_its_marks(run: Run) -> None:
    out = told(run("gpu", "out", FIRST, "--reason", "The fan is loud", "--json"))
    assert (out["uuid"], out["out"], out["reason"], out["held"]) == (FIRST, True, "The fan is loud", 0)
    assert f"{FIRST}: out of service (The fan is loud)" in run("gpu", "list").stdout
    listed = told(run("gpu", "list", "--json"))
    assert [each["note"] for each in listed["cards"]] == ["out of service (The fan is loud)", ""]
    assert "is in service." in run("gpu", "back", FIRST).stdout
    shared = run("gpu", "share", FIRST, "3", "--reason", "For the course")
    assert "shared by at most 3, with no memory protection from each other" in shared.stdout
    assert told(run("gpu", "share", FIRST, "1", "--json"))["tenants"] == 1
    assert told(run("lab", "create", "soil", "--json"))["slug"] == "soil"
    kept = told(run("gpu", "reserve", FIRST, "--lab", "soil", "--json"))
    assert (kept["lab"], kept["project"]) == ("soil", "")
    assert f"{FIRST}: kept for the lab soil" in run("gpu", "list").stdout
    assert told(run("gpu", "reserve", FIRST, "--nobody", "--json"))["lab"] == ""
    assert "Nothing has failed." in run("gpu", "incidents").stdout
    assert told(run("gpu", "incidents", "--json")) == {"incidents": [], "attention": []}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("out", "0", "--reason", "x"), "There is no card 0."),
        (("out", "GPU-ffffffff", "--reason", "x"), "There is no card GPU-ffffffff."),
        (("out", FIRST, "--reason", " "), "No reason is given"),
        (("out", FIRST[:20], "--reason", "x"), "More than one card begins with"),
        (("share", FIRST, "99"), "A card can be shared by 2 to 16"),
        (("reserve", FIRST, "--project", "nowhere"), "There is no project “nowhere” in use"),
        (("forget", FIRST), "This card is in the machine."),
        (("well", "7", "--reason", "x"), "No incident 7 lasts."),
        (("free", "7", "--reason", "x"), "No lease 7 is held by a server."),
    ],
)
def test_what_cannot_be_is_refused_in_words(run: Run, words: tuple[str, ...], said: str) -> None:
    done = run("gpu", *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
