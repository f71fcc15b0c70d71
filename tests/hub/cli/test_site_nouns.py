"""`bancada user`, `status`, `doctor`, `logs` on a site that is set up and does not run: the real command."""

import json
import subprocess
import sys

import pytest

from bancada_hub.installation import Facts, keep_facts
from bancada_hub.places import Places
from bancada_hub.site import load_site
from bancada_hub.store.database import migrate


@pytest.fixture
def site(tmp_path):
    """A site with the process engine on a port of its own, not started."""
    places = Places(tmp_path)
    places.site.mkdir()
    places.lowers.mkdir()
    places.logs.mkdir()
    places.settings_file.write_text('engine = "process"\nport = 61234\n')
    keep_facts(places, Facts(site_id="0a1b2c3d"))
    migrate(load_site(places), places)
    return places


def bancada(*arguments: str, given: str = "") -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "bancada.cli", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


def test_a_person_is_added_listed_and_refused_twice(site):
    added = bancada("user", "add", "ana", "--data", str(site.data))
    assert added.returncode == 0, added.stderr
    assert "Added ana (uid 2000000)." in added.stdout
    assert "Password, shown this once: " in added.stdout
    again = bancada("user", "add", "ana", "--data", str(site.data))
    assert again.returncode == 1
    assert (
        again.stderr == "error: There is an account “ana” already.\nChoose another name; a name is never given twice.\n"
    )
    (row,) = json.loads(bancada("user", "list", "--json", "--data", str(site.data)).stdout)
    assert (row["name"], row["admin"], row["disabled"]) == ("ana", False, False)


def test_a_password_can_come_from_a_program(site):
    added = bancada("user", "add", "bot", "--password-stdin", "--json", "--data", str(site.data), given="x" * 20 + "\n")
    assert json.loads(added.stdout) == {"name": "bot", "uid": 2000000, "admin": False}
    short = bancada("user", "add", "bob", "--password-stdin", "--data", str(site.data), given="short\n")
    assert short.stderr == "error: The password has 5 characters; 15 are needed.\nSeveral words make a good password.\n"


def test_a_directory_without_a_site_says_what_to_run(tmp_path):
    for noun in (["status"], ["user", "list"], ["logs"], ["down"]):
        done = bancada(*noun, "--data", str(tmp_path))
        assert done.returncode == 1
        assert done.stderr.splitlines()[0] == f"error: There is no site at {tmp_path}: bancada.toml is missing."
        assert done.stderr.splitlines()[1].startswith("Run ./bancada up")


def test_status_of_a_site_that_is_down(site):
    done = bancada("status", "--json", "--data", str(site.data))
    assert done.returncode == 1
    state = json.loads(done.stdout)
    assert (state["answers"], state["images"]) == (False, {})
    assert str(site.database_file) in state["back_up"]


def test_doctor_finds_what_is_missing_and_says_how_to_mend_it(site):
    done = bancada("doctor", "--json", "--data", str(site.data))
    assert done.returncode == 1
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert checks["settings"]["ok"]
    assert checks["database"]["ok"]
    assert not checks["hub"]["ok"]
    assert checks["images"]["fix"] == "Run ./bancada up and let it finish."


def test_doctor_goes_on_after_a_typo(site):
    site.settings_file.write_text("prot = 1\n")
    (check,) = json.loads(bancada("doctor", "--json", "--data", str(site.data)).stdout)
    assert not check["ok"]
    assert "there is no key “prot”" in check["detail"]


def test_logs_before_there_are_any(site):
    done = bancada("logs", "--data", str(site.data))
    assert done.stderr == f"error: There is no log in {site.logs} yet.\nRun ./bancada up\n"
