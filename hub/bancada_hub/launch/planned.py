"""What the spawners of all engines share: options, plan, folders, the overlay's lock, progress, and a clean end.

A start is never waited for in a queue here, and whatever ends it (an error, a cancel, JupyterHub's timeout) leaves
nothing behind: an error is cleaned up at once, a cancel in a task of its own, since JupyterHub takes a start that
takes a second to be cancelled for one that succeeded.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from jupyterhub.spawner import Spawner
from sqlalchemy.orm import Session
from traitlets import default

from bancada_hub.errors import BancadaError, EngineError, LaunchRefused, StoreError, told
from bancada_hub.launch.choices import Choices, options_of_form, parse_choices
from bancada_hub.launch.context import LaunchContext
from bancada_hub.launch.ending import Cause, Ending, tell_ended
from bancada_hub.launch.facts import read_facts
from bancada_hub.launch.names import ServerKey, new_start_id
from bancada_hub.launch.plan import LaunchPlan, plan
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.refusal import spawn_exception
from bancada_hub.launch.room import check_room, claim_room
from bancada_hub.people.sessions import TOKEN_STATE, own_token
from bancada_hub.projects.folders import Tenant, prepare_folders
from bancada_hub.projects.identities import Identity
from bancada_hub.store import leases, overlays, servers
from bancada_hub.store.people import find_person

T = TypeVar("T")
Stage = tuple[int, str]
CHECKING: Stage = (10, "Checking your project")
PREPARING: Stage = (25, "Preparing your folders")
STARTING: Stage = (45, "Starting")
WAITING: Stage = (70, "Waiting for JupyterLab")


class PlannedServer(Spawner):
    """A server that is started from a plan and from nothing else. The hub's configuration sets `context` once."""

    context: ClassVar[LaunchContext]
    live: ClassVar[dict[str, "PlannedServer"]] = {}
    """Every start that is under way or up, from before it makes anything until nothing of it is left."""

    being_cleaned: ClassVar[set[str]] = set()
    _cleaning: ClassVar[dict[ServerKey, "asyncio.Task[None]"]] = {}

    server: Any  # JupyterHub's, untyped
    start_id = ""
    key: ServerKey | None = None
    token_id: int | None = None
    came_up = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - JupyterHub's
        super().__init__(*args, **kwargs)
        self.stage: Stage = CHECKING
        self._stage_changed = asyncio.Event()
        self._working: set[asyncio.Future[Any]] = set()

    @default("options_form")
    def _no_form(self) -> str:
        return ""  # the page Work asks; JupyterHub's own form is never shown

    @default("options_from_form")
    def _checked_form(self) -> Callable[[dict[str, list[object]]], dict[str, object]]:
        def checked(form: dict[str, list[object]]) -> dict[str, object]:
            options = options_of_form(form)
            try:
                parse_choices(options)
            except LaunchRefused as refused:
                raise spawn_exception(refused, options.get("language")) from refused
            return options

        return checked

    @default("apply_user_options")
    def _checked_at_start(self) -> Callable[[Spawner, dict[str, object]], None]:
        # `start` checks what came in by any way; without a hook here JupyterHub warns of unhandled options.
        return lambda _spawner, _options: None

    async def start(self) -> str:
        """Start the server; returns its address."""
        self.start_id = new_start_id()
        self.live[self.start_id] = self
        made: LaunchPlan | None = None
        try:
            planned = await self._planned()
            await self.check_engine()
            made, self.key = planned, planned.key
            address = await self._bring_up(made)
        except asyncio.CancelledError:
            self.abandon()
            if made:
                self.clean_later(made.key, self.start_id)
            self.server = None  # else JupyterHub tells the browser that the server is ready
            raise
        except Exception as error:
            if made and isinstance(error, EngineError):
                self.clean_later(made.key, self.start_id)  # a silent engine would keep the person waiting for the words
            elif made:
                await self._clean_quietly(made.key, self.start_id)
            if isinstance(error, BancadaError):
                raise spawn_exception(error, await asyncio.to_thread(self._language)) from error
            raise
        self.came_up = True
        return address

    async def progress(self) -> AsyncIterator[dict[str, object]]:
        """Yield what the start is doing, for as long as JupyterHub listens."""
        while True:
            percent, words = self.stage
            self._stage_changed.clear()
            yield {"progress": percent, "message": words}
            await self._stage_changed.wait()

    def get_state(self) -> dict[str, Any]:
        """Return what a restarted hub needs to find this server again."""
        state: dict[str, Any] = super().get_state()
        if self.key and self.start_id:
            state["start_id"] = self.start_id
            state["server"] = [self.key.site_id, self.key.uid, self.key.project_id]
            state[TOKEN_STATE] = own_token(self.db, self) or self.token_id
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Take the server over from an earlier hub."""
        super().load_state(state)
        self.start_id = state.get("start_id", "")
        self.key = ServerKey(*state["server"]) if "server" in state else None
        self.token_id = state.get(TOKEN_STATE)
        if self.start_id:
            self.live[self.start_id] = self
            self.came_up = True

    def clear_state(self) -> None:
        """Forget the server that was."""
        super().clear_state()
        self.live.pop(self.start_id, None)
        self.start_id, self.key, self.token_id, self.came_up = "", None, None, False

    async def note_end(self, ending: Ending) -> None:
        """Tell the person, once, that a server which had come up has ended without being stopped."""
        if not self.came_up:
            return
        self.came_up = False
        await self._tell(ending)

    async def _tell(self, ending: Ending) -> None:
        try:
            await asyncio.to_thread(self._tell_ended, self.user.name, ending)
        except BancadaError as error:
            self.log.error("%s has not been told of its end: %s", self._log_name, error)  # noqa: TRY400

    def _tell_ended(self, name: str, ending: Ending) -> None:
        with self.context.store.write() as session:
            limit = servers.memory_of(session, self.start_id)
            tell_ended(session, name, self.name, replace(ending, memory_bytes=limit))

    async def end_outside(self) -> None:
        """Stop the server of somebody no longer in the project, or switched off, and keep that for its card."""
        self.came_up = False  # it does not end by itself
        try:
            await self.stop()
        except BancadaError:
            self.came_up = True  # the next look tries again
            raise
        await self._tell(Ending(0, Cause.OUTSIDE))

    async def stop(self, now: bool = False) -> None:
        """End the server and leave nothing of it."""
        raise NotImplementedError

    async def poll(self) -> int | None:
        """Return None while the server runs, else its exit status."""
        raise NotImplementedError

    async def bring_up(self, made: LaunchPlan) -> str:
        """Start what was planned on the engine, and return the server's address."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Tell work in threads that nobody waits for it any more; it may stop at its next step."""

    async def clean_up(self, key: ServerKey, start_id: str) -> None:
        """Remove all that one start made, however far it came."""
        raise NotImplementedError

    async def check_engine(self) -> None:
        """Refuse a start, before anything is made, on an engine that cannot make it now."""

    async def clear_leftovers(self, made: LaunchPlan) -> None:
        """Remove what earlier starts of this server left."""
        raise NotImplementedError

    def overlay_needed(self, made: LaunchPlan) -> str | None:
        """Return the base of the overlay whose folders must exist, or None."""
        return made.base if made.overlay else None

    def check_trees(self, made: LaunchPlan) -> None:
        """Make sure that the read-only trees are where the plan says.

        Raises:
            LaunchRefused: One of them is not.
        """
        lowers = made.overlay.lowers if made.overlay else ()
        for tree in (made.mounts[0].source, *lowers):
            if not (tree / "bin" / "python").exists():
                msg = told("The environment %(tree)s is missing or incomplete.", tree=tree)
                fix = told("Ask an administrator to run ./bancada up, which makes it again.")
                raise LaunchRefused(msg, fix=fix, reason=Reason.ENVIRONMENT_MISSING)

    def _language(self) -> object:
        """Return the language that the person reads: of their profile, else of the page that they started from."""
        of_page = self.user_options.get("language") if isinstance(self.user_options, dict) else ""
        try:
            with self.context.store.read() as session:
                person = find_person(session, self.user.name)
        except StoreError:
            return of_page
        return (person.language if person else "") or of_page

    def at(self, stage: Stage) -> None:
        """Tell how far the start is."""
        self.stage = stage
        self._stage_changed.set()

    async def to_its_end(self, work: Awaitable[T]) -> T:
        """Wait for work in a thread, which no cancel can stop: cleaning up waits for its end, so that it undoes all."""
        task = asyncio.ensure_future(work)
        self._working.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: "asyncio.Future[Any]") -> None:
        self._working.discard(task)
        if not task.cancelled():
            task.exception()  # seen: whoever waited for it has been told

    def clean_later(self, key: ServerKey, start_id: str) -> None:
        """Clean up without anybody waiting; the next start of the same server does wait."""
        if key in self._cleaning:
            return  # its own start waits for it, and removes whatever is left
        self.being_cleaned.add(start_id)
        task = asyncio.create_task(self._clean_quietly(key, start_id))
        self._cleaning[key] = task
        task.add_done_callback(lambda _: self._cleaning.pop(key, None))

    async def _clean_quietly(self, key: ServerKey, start_id: str) -> None:
        if self._working:
            await asyncio.wait(self._working)
        try:
            await self.clean_up(key, start_id)
        except BancadaError as error:
            # The reason of the failed start is what a person must see; the reconciler tries again.
            self.log.error("Cleaning up after %s failed: %s", self._log_name, error)  # noqa: TRY400
        finally:
            self.live.pop(start_id, None)  # what is left now, the reconciler removes
            self.being_cleaned.discard(start_id)

    async def _bring_up(self, made: LaunchPlan) -> str:
        cleaning = self._cleaning.get(made.key)
        if cleaning:
            await asyncio.shield(cleaning)
        await self.to_its_end(self.clear_leftovers(made))
        self.at(PREPARING)
        await self.to_its_end(asyncio.to_thread(self._prepare, made))
        self.at(STARTING)
        return await self.bring_up(made)

    async def _planned(self) -> LaunchPlan:
        self.at(CHECKING)
        try:
            choices = parse_choices(self.user_options)
        except LaunchRefused:
            # JupyterHub has stored them already and would offer them again to a start without options.
            self.orm_spawner.user_options = {}
            raise
        return await asyncio.to_thread(self._checked_plan, choices)

    def _checked_plan(self, choices: Choices) -> LaunchPlan:
        made = plan(read_facts(self.context, self.user.name, self.name), choices)
        check_room(self.context.store, self.context.site, made)
        return made

    def _prepare(self, made: LaunchPlan) -> None:
        self.check_trees(made)
        claim(self.context, made, self.start_id)
        tenant = Tenant(
            identity=Identity(made.user, made.uid, made.project, made.gid),
            project_id=made.key.project_id,
            base=self.overlay_needed(made),
        )
        prepare_folders(self.context.places, tenant)

    def give_back(self, *start_ids: str) -> None:
        """Give back whatever these starts hold."""
        with self.context.store.write() as session:
            for start_id in start_ids:
                overlays.release(session, start_id)
                servers.release(session, start_id)


def claim(context: LaunchContext, made: LaunchPlan, start_id: str) -> None:
    """Take for one start, in one transaction, its share of the machine and the plan's overlay.

    Whoever is written there is of this very server, whose containers were removed just before: a start that was
    killed between writing the lock and creating its container.

    Raises:
        LaunchRefused: There is no room, or the overlay cannot be had.
    """
    with context.store.write() as session:
        person = claim_room(session, context.site, made, start_id)
        _claim_cards(session, made, person.id, start_id)
        if made.overlay is None:
            return
        key = overlays.OverlayKey(made.key.project_id, person.id, made.base)
        before = overlays.holder(session, key)
        if before is not None:
            overlays.release(session, before)
        if not overlays.hold(session, key, start_id):
            raise LaunchRefused(
                told("Your environment is in use by another server."),
                fix=told("Stop that one first."),
                reason=Reason.OVERLAY_HELD,
            )


def _claim_cards(session: Session, made: LaunchPlan, person_id: int, start_id: str) -> None:
    """Take the grant that the plan was made with.

    Raises:
        LaunchRefused: It is gone: its window closed, or another start took it.
    """
    cards = made.resources.gpu_uuids
    if not cards:
        return
    now_s = time.time()
    granted = leases.grant_for(session, (made.key.project_id, person_id), now_s)
    if (
        granted is None
        or granted.cards != cards
        or not leases.claim_lease(session, granted.request_id, start_id, now_s)
    ):
        raise LaunchRefused(
            told("The GPU that waited for you here was given to somebody else: you did not start in time."),
            fix=told("Ask again, or start without a GPU."),
            reason=Reason.GPU_GONE,
        )
