"""The spawner of the process engine: plain processes, without isolation, for trials.

The same plan, the same start module and the same checks as in a container; mounts become paths of this machine, and
the overlay becomes a full environment.
"""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from jupyterhub.utils import random_port

from bancada.contract import parse_start_failure
from bancada_hub.errors import LaunchRefused, told
from bancada_hub.launch import processes
from bancada_hub.launch.ending import Cause, Ending
from bancada_hub.launch.environment import with_hub
from bancada_hub.launch.names import ServerKey, container_name
from bancada_hub.launch.on_host import HostView
from bancada_hub.launch.person_environment import ensure_person_environment
from bancada_hub.launch.plan import LaunchPlan
from bancada_hub.launch.planned import WAITING, PlannedServer
from bancada_hub.launch.ready import wait_until_ready
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.refusal import refused_inside

STOP_S = 10.0
LOOPBACK = "127.0.0.1"


class ProcessServer(PlannedServer):
    """A server that is a process of this machine."""

    known: processes.Known | None = None
    runtime: Path | None = None

    async def clear_leftovers(self, made: LaunchPlan) -> None:
        """End what an earlier hub left of this server."""
        ended = await asyncio.to_thread(processes.end_server, container_name(made.key), 0)
        if ended:
            self.log.warning("Ended %s processes that earlier starts of %s left", ended, self._log_name)

    async def bring_up(self, made: LaunchPlan) -> str:
        """Start the process and wait until JupyterLab answers."""
        self.ip, self.port = LOOPBACK, random_port()
        await self.to_its_end(asyncio.to_thread(self._begin, made))
        self.at(WAITING)
        address = f"http://{LOOPBACK}:{self.port}"
        if not await wait_until_ready(f"{address}{self.server.base_url}api", self._has_ended):
            raise self._why_it_ended()
        self.log.info("Started %s as process %s", self._log_name, self.known)
        return address

    async def poll(self) -> int | None:
        """Return None while the process runs, else its exit status."""
        if self.known is None:
            return 0
        status = processes.exit_status(self.known)
        if status is not None and self.key:
            await self.note_end(Ending(status, Cause.ITSELF))
            self.clean_later(self.key, self.start_id)
        return status

    async def stop(self, now: bool = False) -> None:
        """End the server with all its kernels and terminals."""
        if self.key is None:
            return
        await self._end(self.key, self.start_id, 0 if now else STOP_S)
        self.clear_state()

    async def clean_up(self, key: ServerKey, start_id: str) -> None:
        """End whatever runs of one start and give its environment back."""
        await self._end(key, start_id, 0)

    def get_state(self) -> dict[str, Any]:
        """Return what a restarted hub needs to find the process again."""
        state = super().get_state()
        if self.known:
            state |= {"pid": self.known.pid, "began": self.known.began, "runtime": str(self.runtime)}
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Take the process over from an earlier hub."""
        super().load_state(state)
        if "pid" in state:
            self.known, self.runtime = processes.Known(state["pid"], state["began"]), Path(state["runtime"])

    def clear_state(self) -> None:
        """Forget the process that was."""
        super().clear_state()
        self.known, self.runtime = None, None

    def overlay_needed(self, made: LaunchPlan) -> str | None:
        """Return None: a full environment is made instead."""
        return None

    def _begin(self, made: LaunchPlan) -> None:
        places = self.context.places
        environment = ensure_person_environment(places, self.context.sources, made)
        account = processes.Account(made.uid, made.gid) if os.geteuid() == 0 else None
        self.runtime = Path(tempfile.mkdtemp(prefix="bancada-"))  # short: paths of sockets end at 107 characters
        if account:
            os.chown(self.runtime, account.uid, account.gid)
        view = HostView(made, places, self.runtime, environment)
        variables = with_hub(view.environment(), self.get_env())
        self.known = processes.spawn(view.command(), variables, account, self._log_file(self.start_id))

    async def _end(self, key: ServerKey, start_id: str, stop_s: float) -> None:
        runtime = self.runtime
        await asyncio.to_thread(processes.end_server, container_name(key), stop_s)
        if self.known:
            await asyncio.to_thread(processes.wait_for_end, self.known)
        if runtime:
            await asyncio.to_thread(_remove_runtime, runtime)
        self._log_file(start_id).unlink(missing_ok=True)
        await asyncio.to_thread(self.give_back, start_id)

    def _log_file(self, start_id: str) -> Path:
        return self.context.places.run / f"server-{start_id}.log"

    async def _has_ended(self) -> bool:
        return self.known is None or processes.exit_status(self.known) is not None

    def _why_it_ended(self) -> LaunchRefused:
        log = self._log_file(self.start_id).read_text(errors="replace")[-20_000:]
        failure = parse_start_failure(log)
        if failure:
            return refused_inside(failure)
        self.log.error("%s ended. The end of its log:\n%s", self._log_name, log[-4000:])
        return LaunchRefused(
            told("JupyterLab ended before it was ready."),
            fix=told("Try again; if it happens again, ask an administrator to look at: ./bancada logs"),
            reason=Reason.ENDED,
        )


def _remove_runtime(runtime: Path) -> None:
    places = runtime / "places"
    if os.geteuid() != 0 and places.is_dir():
        places.chmod(0o700)  # it is closed, also to its owner; root needs no leave, and must follow no link of a person
    shutil.rmtree(runtime, ignore_errors=True)
