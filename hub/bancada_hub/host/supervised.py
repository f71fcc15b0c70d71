"""The site's programs under one supervisord, for machines and accounts without systemd.

supervisord starts a program again within a second or two of its end, for ever: there is no last attempt. When
supervisord itself is killed, its programs live on and hold their ports; the next `start` ends them first.
"""

import os
import shlex
import subprocess
import sys
import xmlrpc.client
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, cast

import psutil
from supervisor.xmlrpc import SupervisorTransport

from bancada_hub.errors import HostError
from bancada_hub.host.daemon import wait_until
from bancada_hub.host.programs import (
    PROGRAM_VARIABLE,
    SITE_VARIABLE,
    Program,
    ProgramState,
    end,
    environment_of,
    is_alive,
    marked_processes,
    program_names,
    runs_as_asked,
    started_at,
    write_private,
    write_programs,
)

ANSWER_WITHIN_S = 15.0
START_WITHIN_S = 10.0
STOP_WITHIN_S = 45.0
STOP_EACH_WITHIN_S = 10
SHOWN_LINES = 8
LAUNCHER = Path(__file__).with_name("program.py")
OWN_NAME = "supervisord"

# startsecs=0: a program counts as running from its start, so that every end is followed by a new start.
PROGRAM_SECTION = """
[program:{name}]
command={command}
priority={priority}
autostart=true
autorestart=true
startsecs=0
stopsignal=TERM
stopwaitsecs={stop_s}
killasgroup=true
redirect_stderr=true
stdout_logfile={log}
stdout_logfile_maxbytes=10MB
stdout_logfile_backups=3
"""
MAIN_SECTIONS = """\
[supervisord]
logfile={log}
logfile_maxbytes=1MB
logfile_backups=1
pidfile={pidfile}
childlogdir={logs}
{user}
[unix_http_server]
file={socket}
chmod=0700

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
"""


class SupervisedServices:
    """The programs of one site under supervisord.

    Args:
        site_id: The site's 8 hex digits.
        site_dir: `<data>/site`.
    """

    def __init__(self, site_id: str, site_dir: Path) -> None:
        self._site_id = site_id
        self._logs = site_dir / "logs"
        self._config = site_dir / "supervisord.conf"
        self._programs = site_dir / "run" / "programs.json"
        self._pidfile = site_dir / "run" / "supervisord.pid"
        # Short: supervisord appends its pid to it, and a socket's path has at most 107 bytes.
        self._socket = site_dir / "run" / "sv.sock"

    def start(self, programs: Sequence[Program]) -> None:
        """Make exactly these programs run; those that run as asked already are left alone.

        Raises:
            HostError: supervisord or a program does not start.
        """
        self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_programs(self._programs, self._site_id, programs)
        changed = write_private(self._config, self._render(programs))
        if changed or not self._answers():
            self._end_everything()
            self._start_supervisord()
        self._end_strangers()
        states = {state.name: state for state in self.status()}
        for program in programs:
            if not runs_as_asked(states[program.name].pid, program):
                self.restart(program.name)
        for program in programs:
            self._wait_for(program)

    def stop(self) -> None:
        """End all programs of the site, and supervisord."""
        self._end_everything()
        self._config.unlink(missing_ok=True)

    def restart(self, name: str) -> None:
        """End one program and start it again.

        Raises:
            HostError: There is no such program, or the site does not run.
        """
        if not self._answers():
            raise HostError("The site does not run.", fix="Start it: ./bancada up")
        if name not in program_names(self._programs):
            known = ", ".join(program_names(self._programs))
            raise HostError(f"The site has no program {name}; it has {known}.")
        if self._call("getProcessInfo", name)["pid"]:
            self._call("stopProcess", name)
        self._call("startProcess", name)

    def status(self) -> list[ProgramState]:
        """Return the state of each program that was started last."""
        names = program_names(self._programs)
        if not self._answers():
            return [ProgramState(name, running=False, pid=None, since=None, detail="stopped") for name in names]
        known = {str(info["name"]): info for info in self._call("getAllProcessInfo")}
        return [_state(name, known.get(name, {})) for name in names]

    def pids(self) -> set[int]:
        """Return the processes of the site's programs, left-over ones too."""
        return {process.pid for process in marked_processes(self._site_id)}

    def outside(self) -> list[Path]:
        """Return nothing: all files are in the data directory."""
        return []

    def _render(self, programs: Sequence[Program]) -> str:
        """Return supervisord's settings; they change only with the names of the programs and with this installation."""
        text = MAIN_SECTIONS.format(
            log=_escaped(self._logs / "supervisord.log"),
            pidfile=_escaped(self._pidfile),
            logs=_escaped(self._logs),
            user="user=root\n" if os.geteuid() == 0 else "",
            socket=_escaped(self._socket),
        )
        for number, program in enumerate(programs, 1):
            command = [sys.executable, "-I", str(LAUNCHER), str(self._programs), program.name]
            text += PROGRAM_SECTION.format(
                name=program.name,
                command=_escaped(shlex.join(command)),
                priority=number,
                stop_s=STOP_EACH_WITHIN_S,
                log=_escaped(_escaped(self._logs / f"{program.name}.log")),  # supervisord expands this one twice
            )
        return text

    def _start_supervisord(self) -> None:
        environment = {**os.environ, SITE_VARIABLE: self._site_id, PROGRAM_VARIABLE: OWN_NAME}
        command = [sys.executable, "-m", "supervisor.supervisord", "--configuration", str(self._config)]
        started = subprocess.run(
            command,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if started.returncode or not wait_until(self._answers, ANSWER_WITHIN_S):
            said = f"{started.stdout}{started.stderr}".strip() or _end_of(self._logs / "supervisord.log")
            raise HostError(f"supervisord, which keeps the site's programs running, did not start. It said:\n{said}")

    def _wait_for(self, program: Program) -> None:
        """Wait until a process is the program, and no longer the launcher that becomes it."""

        def runs() -> bool:
            return runs_as_asked(self._call("getProcessInfo", program.name)["pid"] or None, program)

        if not wait_until(runs, START_WITHIN_S):
            log = self._logs / f"{program.name}.log"
            raise HostError(f"The {program.name} does not start. The end of {log}:\n{_end_of(log)}")

    def _end_strangers(self) -> None:
        """End processes of the site that this supervisord did not start: an earlier one's, which hold the ports."""
        owner = psutil.Process(int(self._pidfile.read_text(encoding="ascii")))
        own = {owner.pid, *(child.pid for child in owner.children(recursive=True))}
        end(process for process in marked_processes(self._site_id) if process.pid not in own)

    def _end_everything(self) -> None:
        """End supervisord, its programs, and those that an earlier one left behind."""
        if self._answers():
            pid = int(self._call("getPID"))
            self._call("shutdown")
            wait_until(lambda: not is_alive(pid), STOP_WITHIN_S)
        marked = marked_processes(self._site_id)
        # First what would start the others again.
        end(process for process in marked if environment_of(process.pid).get(PROGRAM_VARIABLE) == OWN_NAME)
        end(marked_processes(self._site_id))
        self._pidfile.unlink(missing_ok=True)
        self._socket.unlink(missing_ok=True)

    def _answers(self) -> bool:
        """Say whether this site's supervisord answers, and is not on its way out."""
        try:
            return bool(self._call("getState")["statename"] == "RUNNING")
        except (OSError, HTTPException, xmlrpc.client.Error):
            return False

    def _call(self, method: str, *arguments: str) -> Any:  # noqa: ANN401 - XML-RPC answers have no declared shape
        """Ask supervisord something over its socket."""
        transport = SupervisorTransport(None, None, f"unix://{self._socket}")
        with xmlrpc.client.ServerProxy("http://localhost", cast("xmlrpc.client.Transport", transport)) as server:
            return getattr(server.supervisor, method)(*arguments)


def _state(name: str, info: dict[str, Any]) -> ProgramState:
    pid = int(info.get("pid") or 0) or None
    detail = str(info.get("description") or "stopped") if pid is None else "running"
    return ProgramState(name, running=pid is not None, pid=pid, since=started_at(pid), detail=detail)


def _escaped(value: object) -> str:
    """Return a value for supervisord's settings, in which a % begins an expansion."""
    return str(value).replace("%", "%%")


def _end_of(log: Path) -> str:
    """Return the last lines of a log."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN_LINES:])
    except FileNotFoundError:
        return "(no log)"
