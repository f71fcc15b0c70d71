"""The spawner of the docker engine: one container for one person in one project.

It is a DockerSpawner by kind, so that what knows DockerSpawner knows it; of its many settings none is read. All that
is created comes from `container.create_body`, out of the plan.
"""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeVar

import docker
from dockerspawner import DockerSpawner

from bancada.contract import parse_start_failure
from bancada_hub.errors import EngineError, HostError, LaunchRefused, told
from bancada_hub.launch import container, removal
from bancada_hub.launch.calls import EngineCalls
from bancada_hub.launch.ending import how_it_ended
from bancada_hub.launch.environment import with_hub
from bancada_hub.launch.names import START_LABEL, ServerKey
from bancada_hub.launch.plan import LaunchPlan
from bancada_hub.launch.planned import WAITING, PlannedServer
from bancada_hub.launch.ready import wait_until_ready
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.refusal import refused_inside
from bancada_hub.launch.silence import in_words, silent_since

T = TypeVar("T")


class DockerServer(PlannedServer, DockerSpawner):
    """A server in a container."""

    _calls: ClassVar[EngineCalls | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - JupyterHub's
        super().__init__(*args, **kwargs)
        self._abandoned = threading.Event()

    @property
    def calls(self) -> EngineCalls:
        """The engine, shared by all servers of the hub."""
        cls = DockerServer
        if cls._calls is None or cls._calls.host != self.context.engine_host:
            cls._calls = EngineCalls(self.context.engine_host)
        return cls._calls

    async def engine(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:  # noqa: ANN401 - the call's own
        """Run a function whose first argument is the engine's client."""

        def with_client(client: docker.DockerClient) -> T:
            return call(client, *args, **kwargs)

        return await self.calls.run(with_client)

    async def check_engine(self) -> None:
        """Refuse a start while the engine is silent, before anything is made."""
        try:
            await self.calls.check()
        except EngineError as error:
            since = silent_since(self.context.places)
            if since is None:
                raise
            raise EngineError(in_words(since), fix=error.fix) from error

    async def clear_leftovers(self, made: LaunchPlan) -> None:
        """Remove every container and volume of this server."""
        gone = await self.engine(removal.take_down, made.key.labels)
        if gone:
            self.log.warning("Removed what earlier starts of %s left: %s", self._log_name, ", ".join(sorted(gone)))
            await asyncio.to_thread(self.give_back, *gone)

    async def bring_up(self, made: LaunchPlan) -> str:
        """Create and start the container and wait until JupyterLab answers."""
        await asyncio.to_thread(self._hold_walls)
        self._abandoned = threading.Event()
        environment = with_hub(made.environment, self.get_env())
        create = partial(
            container.bring_up, plan=made, start_id=self.start_id, environment=environment, abandoned=self._abandoned
        )
        running = await self.to_its_end(self.calls.run(create))
        self.object_id, self.object_name = running.id, made.container_name
        self.at(WAITING)
        address = f"http://{running.address}:{container.PORT}"
        if not await wait_until_ready(f"{address}{self.server.base_url}api", self._has_ended):
            raise await self._why_it_ended()
        self.log.info("Started %s as %s, plan %s", self._log_name, made.container_name, made.plan_hash[:12])
        return address

    def abandon(self) -> None:
        """Keep a container that is being created from being started."""
        self._abandoned.set()

    async def clean_up(self, key: ServerKey, start_id: str) -> None:
        """Remove container and volume of one start and give its overlay back."""
        await self.engine(removal.take_down, key.labels | {START_LABEL: start_id})
        await asyncio.to_thread(self.give_back, start_id)
        self.object_id = ""

    async def poll(self) -> int | None:
        """Return None while the container runs, else its exit status; an engine that is silent proves nothing."""
        if not self.object_id:
            return 0
        try:
            ending = await self.engine(how_it_ended, self.object_id)
        except EngineError as error:
            self.log.warning("%s: %s", self._log_name, error.what)
            return None
        if ending is None:
            return None
        self.log.warning("%s has ended with status %s: %s", self._log_name, ending.status, ending.cause)
        await self.note_end(ending)  # before what shows how it ended is removed
        if self.key:
            self.clean_later(self.key, self.start_id)
        return ending.status

    async def stop(self, now: bool = False) -> None:
        """End the container and remove all that its start made."""
        if self.key is None:
            return
        labels = self.key.labels | {START_LABEL: self.start_id}
        await self.engine(removal.take_down, labels, stop_s=0 if now else removal.STOP_S)
        await asyncio.to_thread(self.give_back, self.start_id)
        self.clear_state()

    def clear_state(self) -> None:
        """Forget the container that was."""
        super().clear_state()
        self.object_id = ""

    def _hold_walls(self) -> None:
        try:
            put_back = self.context.firewall.hold() if self.context.firewall else None
        except HostError as error:
            self.log.error("%s does not start: %s", self._log_name, error)  # noqa: TRY400 - it says what to do
            put_back = None
        if put_back is None:
            raise LaunchRefused(
                told("The firewall that keeps people's servers apart is not in force, and cannot be put in force now."),
                fix=told("Ask an administrator to run ./bancada doctor, which says why."),
                reason=Reason.NO_WALLS,
            )
        if put_back:
            self.log.warning("Somebody had removed the site's firewall rules; they are in force again")

    async def _has_ended(self) -> bool:
        return await self.engine(container.has_ended, self.object_id)

    async def _why_it_ended(self) -> LaunchRefused:
        log = await self.engine(container.last_words, self.object_id)
        failure = parse_start_failure(log)
        if failure:
            return refused_inside(failure)
        status = await self.engine(container.exit_status, self.object_id)
        self.log.error("%s ended with status %s. The end of its log:\n%s", self._log_name, status, log[-4000:])
        return LaunchRefused(
            told("JupyterLab ended before it was ready (exit status %(status)s).", status=status),
            fix=told("Try again; if it happens again, ask an administrator to look at: ./bancada logs"),
            reason=Reason.ENDED,
        )
