"""The GPU queue on the console's clock: looks, decides, then starts and stops servers through the hub.

It also looks at once when somebody asked or gave something up, and when a server has ended: what comes free goes to
the next without waiting for the clock.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence

from sqlalchemy.exc import SQLAlchemyError

from bancada_hub.console.errors import HubAwayError, HubRefusedError
from bancada_hub.console.hub import HubClient
from bancada_hub.console.metrics import Metrics
from bancada_hub.console.shared import Shared
from bancada_hub.console.starts import Starts
from bancada_hub.errors import BancadaError, LaunchRefused, PeopleError, told
from bancada_hub.gpus.asking import Asker, Asking, Refused, ask_together, cancel
from bancada_hub.gpus.board import Board, read_board
from bancada_hub.gpus.broker import Broker, Lab
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.gpus.lab import read_lab
from bancada_hub.gpus.settling import Todo, ToStart, ToStop, settle
from bancada_hub.gpus.watching import WORK
from bancada_hub.roles import Actor
from bancada_hub.store import leases, notices, people, projects, requests, trace
from bancada_hub.store.database import Store
from bancada_hub.store.requests import RequestState, StoredRequest

LOOK_S = 5.0
"""Seconds between two looks when nothing was said to have changed."""

RECENT_S = 30.0
"""So old may be what pages and requests know of the cards; the queue's own looks read them anew."""

MOST_TOGETHER = 100
"""So many requests at most are let in by one transaction, so that the first of them does not wait for a crowd."""

log = logging.getLogger(__name__)


class GpuQueue:
    """Keeps the queue of one site moving.

    Args:
        store: The database.
        cards: The machine's.
        hub: The hub that starts and stops servers.
        starts: Starts under way.
    """

    def __init__(self, store: Store, cards: Shared[Inventory], hub: HubClient, starts: Starts) -> None:
        self._store, self._cards, self._hub, self._starts = store, cards, hub, starts
        self._broker = Broker(store)
        self.metrics = Metrics()
        """How long decisions take."""
        self._changed = asyncio.Event()
        self._asked: deque[tuple[Asking, asyncio.Future[StoredRequest | Refused]]] = deque()
        self._letting_in: asyncio.Task[None] | None = None
        self._tried: set[int] = set()
        self._stopping: set[int] = set()
        self._task: asyncio.Task[None] | None = None
        self.occupied: tuple[int, ...] = ()
        """Leases whose server has gone while something is still on their cards."""

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """End."""
        tasks = [task for task in (self._task, self._letting_in) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def look_soon(self) -> None:
        """Look at once: something changed."""
        self._changed.set()

    async def _run(self) -> None:
        said = ""
        while True:
            try:
                await self.look()
                said = ""
            except (BancadaError, SQLAlchemyError, OSError) as error:
                if str(error) != said:
                    log.error("The GPU queue stands still: %s", error)  # noqa: TRY400 - said in a sentence
                said = str(error)
            except Exception as error:  # an error of ours: the log has its place, and the queue goes on
                if repr(error) != said:
                    log.exception("The GPU queue stands still")
                said = repr(error)
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._changed.wait()
            except TimeoutError:
                continue
            finally:
                self._changed.clear()

    async def board(self, person_id: int) -> tuple[Board, Lab]:
        """Return the queue as a person may see it, with the cards and rules that it is about."""
        inventory = await self._cards.recent(RECENT_S)

        def read() -> tuple[Board, Lab]:
            with self._store.read() as session:
                lab = read_lab(session, inventory)
                return read_board(session, lab, person_id, time.time()), lab

        return await asyncio.to_thread(read)

    async def ask(self, actor: Actor, asker: Asker, asked: Mapping[str, object]) -> StoredRequest:
        """Put somebody in the queue, and look at once; raises `gpus.asking.Refused`.

        Those who ask while others are being let in are let in together, by the next transaction.
        """
        answer = asyncio.get_running_loop().create_future()
        self._asked.append((Asking(actor, asker, asked), answer))
        if self._letting_in is None or self._letting_in.done():
            self._letting_in = asyncio.create_task(self._let_in())
        found: StoredRequest | Refused = await answer
        if isinstance(found, StoredRequest):
            return found
        raise found

    async def _let_in(self) -> None:
        while self._asked:
            together = [self._asked.popleft() for _ in range(min(MOST_TOGETHER, len(self._asked)))]
            try:
                found = await self._decide_on([asking for asking, _ in together])
            except Exception as error:  # noqa: BLE001 - each of them is told, and the next are tried
                found = [error] * len(together)
            for (_, answer), each in zip(together, found, strict=True):
                if answer.done():  # whoever asked has gone
                    continue
                if isinstance(each, StoredRequest | PeopleError | LaunchRefused):
                    answer.set_result(each)
                else:
                    answer.set_exception(each)
            if any(isinstance(each, StoredRequest) and each.state is RequestState.GRANTED for each in found):
                self.look_soon()

    async def _decide_on(self, askings: list[Asking]) -> Sequence[StoredRequest | Exception]:
        inventory = await self._cards.recent(RECENT_S)

        def do() -> list[StoredRequest | Refused]:
            with self.metrics.deciding():
                return ask_together(self._broker, askings, lambda session: read_lab(session, inventory), time.time())

        return await asyncio.to_thread(do)

    async def cancel(self, actor: Actor, request_id: int) -> None:
        """Take a request out of the queue, and look at once; raises what `gpus.asking.cancel` does."""
        await asyncio.to_thread(cancel, self._store, actor, request_id, time.time())
        self.look_soon()

    async def look(self) -> Todo:
        """Look once, and do what is to be done; returns what that was."""
        if not await asyncio.to_thread(self._in_use):
            return Todo()
        inventory = await self._cards.ask()
        todo = await asyncio.to_thread(self._settle, inventory)
        self.occupied = todo.occupied
        self._stopping &= {stop.request_id for stop in todo.stops}
        self._tried &= {start.request_id for start in todo.starts}
        for stop in todo.stops:
            await self._stop(stop)
        for start in todo.starts:
            await self._begin(start)
        return todo

    def _in_use(self) -> bool:
        with self._store.read() as session:
            return bool(requests.waiting_ids(session)) or bool(leases.live_leases(session))

    def _settle(self, inventory: Inventory) -> Todo:
        with self.metrics.deciding(), self._broker.turn() as turn:
            lab = read_lab(turn.session, inventory)
            return settle(turn, lab, inventory, time.time(), self._stopping)

    async def _stop(self, stop: ToStop) -> None:
        self._stopping.add(stop.request_id)
        try:
            await self._hub.stop(stop.person, stop.project)
        except (HubAwayError, HubRefusedError) as error:
            log.warning("%s in %s could not be stopped at the end of its lease: %s", stop.person, stop.project, error)

    async def _begin(self, start: ToStart) -> None:
        """Start a server for its owner, once; the audit has it as theirs, and a failure is told to them."""
        if start.request_id in self._tried:
            return
        self._tried.add(start.request_id)
        try:
            await self._starts.begin(start.person, start.project, {"language": start.language or "en"})
            problem = ""
        except HubAwayError:
            self._tried.discard(start.request_id)  # the next look tries again
            return
        except HubRefusedError as error:
            if await self._runs(start):
                await asyncio.to_thread(self._tell_it_runs, start)
                return
            problem = str(error)
        await asyncio.to_thread(self._record, start, problem)

    async def _runs(self, start: ToStart) -> bool:
        """Return whether the server runs already: somebody started it without a GPU while they waited."""
        try:
            found = (await self._hub.servers(start.person)).get(start.project)
        except (HubAwayError, HubRefusedError):
            return False
        return found is not None and found.ready

    def _tell_it_runs(self, start: ToStart) -> None:
        with self._store.write() as session:
            person, project = people.find_person(session, start.person), projects.find_project(session, start.project)
            if person is None or project is None:
                return
            text = told("%(project)s runs already. To move to its GPU, save, stop and start.", project=project.title)
            new = notices.NewNotice(text, notices.WARNING, action_label=told("Go to Work"), action_url=WORK)
            notices.add_notice(session, person.id, new)

    def _record(self, start: ToStart, problem: str) -> None:
        with self._store.write() as session:
            person = people.find_person(session, start.person)
            if person is None:
                return
            actor = Actor(person.id, person.name, person.admin, origin="gpu queue")
            result = trace.REFUSED if problem else trace.DONE
            detail = {"request": start.request_id, **({"why": problem} if problem else {})}
            trace.audit(session, trace.Entry(actor, "server.start", f"project:{start.project}", result, detail))
            if problem:
                text = told("%(project)s could not start with its GPU: %(why)s", project=start.project, why=problem)
                new = notices.NewNotice(text, notices.WARNING, action_label=told("Go to Work"), action_url=WORK)
                notices.add_notice(session, person.id, new)
