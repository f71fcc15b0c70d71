"""A site's programs under a real supervisord, and as unit files that systemd accepts."""

import os
import secrets
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

from bancada_hub.errors import HostError
from bancada_hub.host import debian, programs, supervised
from bancada_hub.host.programs import Program, ProgramState, is_alive
from bancada_hub.host.supervised import SupervisedServices
from bancada_hub.host.systemd import SystemdServices

# Holds a socket, as hub and console do: a second copy dies with "Address already in use".
SCRIPT = """
import os, socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0" + sys.argv[1])
print("started", os.environ["COLOUR"], flush=True)
time.sleep(600)
"""


def until(condition: Callable[[], bool], seconds: float = 20) -> float:
    """Wait for a condition; return how long it took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, "waited in vain"
        time.sleep(0.02)
    return time.monotonic() - start


@dataclass(frozen=True)
class Trial:
    """One site of two small programs."""

    site_id: str
    directory: Path
    services: SupervisedServices

    def program(self, name: str, colour: str = "blue") -> Program:
        command = (sys.executable, "-c", SCRIPT, f"bancada-{self.site_id}-{name}")
        environment = {"COLOUR": colour, "TOKEN": f"secret-of-{name}"}
        return Program(name, command, environment, self.directory)

    def both(self) -> list[Program]:
        return [self.program("first"), self.program("second")]

    def states(self) -> dict[str, ProgramState]:
        return {state.name: state for state in self.services.status()}

    def pid(self, name: str) -> int:
        pid = self.states()[name].pid
        assert pid is not None
        return pid

    def copies(self, name: str) -> list[int]:
        """Return the pids of all processes that are this program, whoever started them."""
        last = f"bancada-{self.site_id}-{name}"
        return [
            process.pid for process in psutil.process_iter(["cmdline"]) if (process.info["cmdline"] or [""])[-1] == last
        ]

    def supervisord(self) -> psutil.Process:
        return psutil.Process(int((self.directory / "run" / "supervisord.pid").read_text()))


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    site_id = secrets.token_hex(4)
    directory = tmp_path / "site"
    directory.mkdir()
    made = Trial(site_id, directory, SupervisedServices(site_id, directory))
    yield made
    made.services.stop()


def test_programs_run_with_their_environment_and_a_log_each(trial: Trial) -> None:
    trial.services.start(trial.both())
    states = trial.services.status()
    assert [(state.name, state.running, state.detail) for state in states] == [
        ("first", True, "running"),
        ("second", True, "running"),
    ]
    for state in states:
        assert state.pid
        assert state.since is not None
        assert abs(state.since.timestamp() - time.time()) < 60
        log = trial.directory / "logs" / f"{state.name}.log"
        until(lambda log=log: log.exists() and log.read_text() == "started blue\n")


def test_secrets_are_in_no_command_line_and_in_no_file_that_others_read(trial: Trial) -> None:
    trial.services.start(trial.both())
    lines = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert not any("secret-of-" in line for line in lines)
    holding = [path for path in trial.directory.rglob("*") if path.is_file() and b"secret-of-" in path.read_bytes()]
    assert [path.name for path in holding] == ["programs.json"]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600
    assert stat.S_IMODE((trial.directory / "supervisord.conf").stat().st_mode) == 0o600
    assert stat.S_IMODE((trial.directory / "run" / "sv.sock").stat().st_mode) == 0o700
    assert programs.environment_of(trial.pid("first"))["TOKEN"] == "secret-of-first"


def test_second_start_changes_nothing(trial: Trial) -> None:
    trial.services.start(trial.both())
    before = trial.states()
    trial.services.start(trial.both())
    assert trial.states() == before


def test_only_the_changed_program_starts_anew(trial: Trial) -> None:
    trial.services.start(trial.both())
    before = trial.states()
    trial.services.start([trial.program("first", "green"), trial.program("second")])
    after = trial.states()
    assert after["second"] == before["second"]
    assert after["first"].pid != before["first"].pid
    assert programs.environment_of(trial.pid("first"))["COLOUR"] == "green"
    assert len(trial.copies("first")) == 1


def test_program_that_is_no_longer_wanted_ends(trial: Trial) -> None:
    trial.services.start(trial.both())
    trial.services.start([trial.program("second")])
    assert list(trial.states()) == ["second"]
    assert trial.copies("first") == []


def test_killed_program_is_back_within_two_seconds(trial: Trial) -> None:
    trial.services.start(trial.both())
    other = trial.states()["second"]
    for _ in range(3):  # more often than supervisord's own three tries
        before = trial.pid("first")
        psutil.Process(before).kill()
        took = until(lambda before=before: trial.copies("first") not in ([], [before]))
        assert took < 2.5
        until(lambda before=before: trial.states()["first"].pid not in {None, before})
    assert trial.states()["second"] == other


def test_killed_supervisord_leaves_no_second_copies(trial: Trial) -> None:
    trial.services.start(trial.both())
    orphans = {name: trial.pid(name) for name in ("first", "second")}
    trial.supervisord().kill()
    until(lambda: not trial.services.status()[0].running)
    assert [state.detail for state in trial.services.status()] == ["stopped", "stopped"]
    assert trial.services.pids() >= set(orphans.values())
    trial.services.start(trial.both())
    for name, orphan in orphans.items():
        assert trial.copies(name) == [trial.pid(name)]
        assert trial.pid(name) != orphan


def test_supervisord_whose_socket_is_lost_is_replaced(trial: Trial) -> None:
    trial.services.start(trial.both())
    before = trial.supervisord()
    (trial.directory / "run" / "sv.sock").unlink()
    trial.services.start(trial.both())
    assert not is_alive(before.pid)
    assert [len(trial.copies(name)) for name in ("first", "second")] == [1, 1]


def test_left_over_of_an_earlier_supervisord_is_ended_while_a_new_one_runs(trial: Trial) -> None:
    trial.services.start(trial.both())
    stranger = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        env={programs.SITE_VARIABLE: trial.site_id, programs.PROGRAM_VARIABLE: "first"},
    )
    before = trial.states()
    trial.services.start(trial.both())
    assert stranger.wait(timeout=10) is not None
    assert trial.states() == before


def test_peoples_servers_are_never_ended(trial: Trial) -> None:
    """A server carries the site's id, and not the name of a program."""
    server = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={programs.SITE_VARIABLE: trial.site_id}
    )
    trial.services.start(trial.both())
    trial.services.stop()
    assert server.poll() is None
    server.kill()
    server.wait()


def test_stop_leaves_nothing_running(trial: Trial) -> None:
    trial.services.start(trial.both())
    supervisord = trial.supervisord()
    trial.services.stop()
    assert not is_alive(supervisord.pid)
    assert trial.services.pids() == set()
    assert [trial.copies(name) for name in ("first", "second")] == [[], []]
    assert sorted(path.name for path in (trial.directory / "run").iterdir()) == ["programs.json"]
    assert [state.running for state in trial.services.status()] == [False, False]
    trial.services.stop()


def test_stop_after_supervisord_was_killed_leaves_nothing_running(trial: Trial) -> None:
    trial.services.start(trial.both())
    trial.supervisord().kill()
    trial.services.stop()
    assert [trial.copies(name) for name in ("first", "second")] == [[], []]


def test_restart_starts_one_program_anew(trial: Trial) -> None:
    trial.services.start(trial.both())
    before = trial.states()
    trial.services.restart("first")
    until(lambda: len(trial.copies("first")) == 1)
    assert trial.states()["first"].pid != before["first"].pid
    assert trial.states()["second"] == before["second"]
    with pytest.raises(HostError) as caught:
        trial.services.restart("third")
    assert str(caught.value) == "The site has no program third; it has first, second."


def test_restart_of_a_site_that_does_not_run(trial: Trial) -> None:
    with pytest.raises(HostError) as caught:
        trial.services.restart("first")
    assert str(caught.value) == "The site does not run.\nStart it: ./bancada up"


def test_program_that_cannot_start_shows_the_end_of_its_log(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised, "START_WITHIN_S", 2.0)
    broken = replace(trial.program("first"), command=("/nonexistent/hub",))
    with pytest.raises(HostError) as caught:
        trial.services.start([broken])
    what = caught.value.what
    assert what.startswith(f"The first does not start. The end of {trial.directory}/logs/first.log:\n")
    assert what.endswith("error: first cannot be started: [Errno 2] No such file or directory: '/nonexistent/hub'")


def test_longest_data_path_and_a_percent_sign(tmp_path: Path) -> None:
    """80 characters is the longest data path that a site may have; a socket's path has 107 bytes."""
    start = f"/var/tmp/bancada-{os.getpid()}-100%-"
    data = Path(start + "d" * (80 - len(start)))
    site_id = secrets.token_hex(4)
    services = SupervisedServices(site_id, data / "site")
    (data / "site").mkdir(parents=True)
    program = Program("only", (sys.executable, "-c", "import time; time.sleep(600)"), {}, data)
    try:
        services.start([program])
        assert [state.running for state in services.status()] == [True]
    finally:
        services.stop()
        shutil.rmtree(data)


def test_nothing_is_written_outside_the_data_directory(trial: Trial) -> None:
    trial.services.start(trial.both())
    assert trial.services.outside() == []


# systemd


def test_unit_files_are_what_systemd_accepts(tmp_path: Path) -> None:
    site, units, rotation = tmp_path / "100% site", tmp_path / "units", tmp_path / "logrotate.d"
    for folder in (site, units, rotation):
        folder.mkdir()
    services = SystemdServices("0123abcd", site, units, rotation)
    three = [
        Program(name, (sys.executable, "-m", "http.server"), {"TOKEN": "secret"}, site)
        for name in ("proxy", "hub", "console")
    ]
    assert services.write_units(three) is True
    assert services.write_units(three) is False
    names = [f"bancada-0123abcd-{name}.service" for name in ("console", "hub", "proxy")]
    assert sorted(path.name for path in units.iterdir()) == names
    assert services.outside() == [*(units / name for name in names), rotation / "bancada-0123abcd"]
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(units / name) for name in names)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    hub = (units / names[1]).read_text()
    for line in (
        "Restart=always",
        "RestartSec=1",
        "StartLimitIntervalSec=0",
        "After=network-online.target docker.service",
    ):
        assert line in hub.splitlines()
    assert "secret" not in hub


def test_logrotate_accepts_the_settings(tmp_path: Path) -> None:
    debian.install(["logrotate"], reason="This test runs it.", agreed=True, ask=None)
    site, units, rotation = tmp_path / "site", tmp_path / "units", tmp_path / "logrotate.d"
    for folder in (site, units, rotation, site / "logs"):
        folder.mkdir()
    SystemdServices("0123abcd", site, units, rotation).write_units([Program("hub", ("true",), {}, site)])
    (site / "logs" / "hub.log").write_text("a line\n" * 2_000_000)
    (site / "logs").chmod(0o700)
    done = subprocess.run(
        ["logrotate", "--state", str(tmp_path / "state"), str(rotation / "bancada-0123abcd")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (site / "logs" / "hub.log").stat().st_size == 0
    assert (site / "logs" / "hub.log.1").stat().st_size == 14_000_000
