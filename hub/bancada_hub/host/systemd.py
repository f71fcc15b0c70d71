"""The site's programs as systemd units, with log files in the data directory that logrotate keeps small."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from bancada_hub.errors import HostError
from bancada_hub.host.daemon import wait_until
from bancada_hub.host.programs import (
    Program,
    ProgramState,
    end,
    marked_processes,
    program_names,
    runs_as_asked,
    started_at,
    write_private,
    write_programs,
)

UNIT_DIRECTORY = Path("/etc/systemd/system")
LOGROTATE_DIRECTORY = Path("/etc/logrotate.d")
LAUNCHER = Path(__file__).with_name("program.py")
START_WITHIN_S = 10.0

# KillMode=process: with the process engine people's servers are children of the hub, and outlive its restarts.
UNIT = """\
[Unit]
Description=Bancada {name}, site {site_id}
After=network-online.target docker.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command}
WorkingDirectory={directory}
Restart=always
RestartSec=1
KillMode=process
TimeoutStopSec=10
StandardOutput=append:{log}
StandardError=inherit

[Install]
WantedBy=multi-user.target
"""
LOGROTATE = """\
"{logs}"/*.log {{
    size 10M
    rotate 3
    copytruncate
    missingok
    notifempty
}}
"""


class SystemdServices:
    """The programs of one site as systemd units.

    Args:
        site_id: The site's 8 hex digits.
        site_dir: `<data>/site`.
        units: Where unit files are written.
        logrotate: Where logrotate's settings are written, when that directory exists.
    """

    def __init__(
        self, site_id: str, site_dir: Path, units: Path = UNIT_DIRECTORY, logrotate: Path = LOGROTATE_DIRECTORY
    ) -> None:
        self._site_id = site_id
        self._logs = site_dir / "logs"
        self._programs = site_dir / "run" / "programs.json"
        self._units = units
        self._logrotate = logrotate

    def start(self, programs: Sequence[Program]) -> None:
        """Make exactly these programs run; those that run as asked already are left alone.

        Raises:
            HostError: systemd refused, or a program does not start.
        """
        self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_programs(self._programs, self._site_id, programs)
        names = [program.name for program in programs]
        self._remove([name for name in self._known() if name not in names])
        if self.write_units(programs):
            self._systemctl("daemon-reload")
        self._systemctl("enable", "--quiet", *map(self.unit, names))
        own = {state.pid for state in self.status()}
        end(process for process in marked_processes(self._site_id) if not own & _family(process.pid))
        for program in programs:
            if not runs_as_asked(self._pid(program.name), program):
                self._systemctl("restart", self.unit(program.name))
        for program in programs:
            self._wait_for(program)

    def stop(self) -> None:
        """End all programs of the site, and remove their units."""
        self._remove(self._known())
        self._rotation().unlink(missing_ok=True)
        end(marked_processes(self._site_id))

    def restart(self, name: str) -> None:
        """End one program and start it again.

        Raises:
            HostError: There is no such program, or systemd could not start it.
        """
        if name not in self._known():
            known = ", ".join(self._known()) or "none: start it with ./bancada up"
            raise HostError(f"The site has no program {name}; it has {known}.")
        self._systemctl("restart", self.unit(name))

    def status(self) -> list[ProgramState]:
        """Return the state of each program that was started last."""
        states = []
        for name in program_names(self._programs):
            pid = self._pid(name)
            state = self._show(name, "SubState")
            detail = "running" if pid else state if state not in {"", "dead"} else "stopped"
            states.append(ProgramState(name, pid is not None, pid, started_at(pid), detail))
        return states

    def pids(self) -> set[int]:
        """Return the processes of the site's programs, left-over ones too."""
        return {process.pid for process in marked_processes(self._site_id)}

    def outside(self) -> list[Path]:
        """Return the unit files, and logrotate's settings for the logs."""
        files = [self._units / self.unit(name) for name in self._known()]
        return [*files, self._rotation()] if self._rotation().exists() else files

    def unit(self, name: str) -> str:
        """Return the name of a program's unit."""
        return f"bancada-{self._site_id}-{name}.service"

    def write_units(self, programs: Sequence[Program]) -> bool:
        """Write a unit file a program; return whether any of them changed."""
        changed = False
        for program in programs:
            command = [sys.executable, "-I", str(LAUNCHER), str(self._programs), program.name]
            text = UNIT.format(
                name=program.name,
                site_id=self._site_id,
                command=" ".join(map(_quoted, command)),
                directory=_escaped(program.directory),
                log=_escaped(self._logs / f"{program.name}.log"),
            )
            changed |= write_private(self._units / self.unit(program.name), text, mode=0o644)
        if self._logrotate.is_dir():
            write_private(self._rotation(), LOGROTATE.format(logs=self._logs), mode=0o644)
        return changed

    def _known(self) -> list[str]:
        """Return the programs that have a unit."""
        prefix = f"bancada-{self._site_id}-"
        found = self._units.glob(f"{prefix}*.service")
        return sorted(path.name.removeprefix(prefix).removesuffix(".service") for path in found)

    def _remove(self, names: Sequence[str]) -> None:
        """Stop programs and remove their units."""
        if not names:
            return
        units = [self.unit(name) for name in names]
        self._systemctl("disable", "--quiet", "--now", *units)
        for unit in units:
            (self._units / unit).unlink(missing_ok=True)
        self._systemctl("daemon-reload")

    def _rotation(self) -> Path:
        return self._logrotate / f"bancada-{self._site_id}"

    def _pid(self, name: str) -> int | None:
        return int(self._show(name, "MainPID") or 0) or None

    def _show(self, name: str, what: str) -> str:
        """Return one property of a unit, or "" when systemd knows none."""
        command = ["systemctl", "show", "--property", what, "--value", self.unit(name)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    def _wait_for(self, program: Program) -> None:
        if not wait_until(lambda: runs_as_asked(self._pid(program.name), program), START_WITHIN_S):
            raise HostError(
                f"The {program.name} does not start.", fix=f"See why: systemctl status {self.unit(program.name)}"
            )

    def _systemctl(self, *arguments: str) -> None:
        command = ["systemctl", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise HostError(
                f"systemd refused: {' '.join(command)}\n{done.stderr.strip()}",
                fix=f"See its log: journalctl --unit 'bancada-{self._site_id}-*' --lines 50",
            )


def _family(pid: int) -> set[int]:
    """Return a process and its ancestors."""
    try:
        return {pid, *(parent.pid for parent in psutil.Process(pid).parents())}
    except psutil.NoSuchProcess:
        return {pid}


def _escaped(value: object) -> str:
    """Return a value for a unit file, in which a % begins a specifier."""
    return str(value).replace("%", "%%")


def _quoted(word: str) -> str:
    """Return one word of a unit's command line."""
    return '"' + _escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") + '"'
