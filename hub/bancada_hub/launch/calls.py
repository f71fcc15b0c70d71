"""Calls to the engine from the hub's event loop: in a few threads, each with its own connection, each with a limit.

DockerSpawner's own executor has one thread and one client for everybody: one slow call would hold up every start.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import docker
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from bancada_hub.errors import EngineError, told

T = TypeVar("T")
THREADS = 8
TIMEOUT_S = 60
ANSWER_S = 5
"""Seconds that a start, and a look of the clock, wait for a sign of the engine."""


def check_answers(host: str) -> None:
    """Ask an engine whether it is there.

    Raises:
        EngineError: It did not answer within ANSWER_S.
    """
    try:
        docker.APIClient(base_url=host, version="auto", timeout=ANSWER_S).close()  # it asks for the version
    except (DockerException, RequestException) as error:
        msg = told("The container engine does not answer, so nothing starts. What is running goes on.")
        raise EngineError(msg, fix=told("Run: ./bancada doctor")) from error


class EngineCalls:
    """Runs functions of an engine's client outside the event loop.

    Args:
        host: The engine's address.
        timeout_s: The longest a single request may wait for the engine.
    """

    def __init__(self, host: str, timeout_s: int = TIMEOUT_S) -> None:
        self.host = host
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="engine")
        self._local = threading.local()

    def submit(self, call: Callable[[docker.DockerClient], T]) -> "Future[T]":
        """Begin a call; it ends by itself, whoever still waits for it."""
        return self._threads.submit(self._call, call)

    async def run(self, call: Callable[[docker.DockerClient], T]) -> T:
        """Make a call and return its result.

        Raises:
            EngineError: The engine does not answer, or refused.
        """
        return await asyncio.wrap_future(self.submit(call))

    async def check(self) -> None:
        """Ask the engine whether it is there, beside the threads, which may all be waiting for it.

        Raises:
            EngineError: It did not answer within ANSWER_S.
        """
        await asyncio.to_thread(check_answers, self.host)

    def _call(self, call: Callable[[docker.DockerClient], T]) -> T:
        try:
            return call(self._client())
        except APIError as error:
            msg = told("The container engine refused: %(why)s", why=error.explanation or error)
            raise EngineError(msg, fix=told("Run: ./bancada doctor")) from error
        except (DockerException, RequestException) as error:
            self._local.client = None
            msg = told("The container engine at %(host)s does not answer: %(why)s", host=self.host, why=error)
            raise EngineError(msg, fix=told("Run: ./bancada doctor")) from error

    def _client(self) -> docker.DockerClient:
        client: docker.DockerClient | None = getattr(self._local, "client", None)
        if client is None:
            client = docker.DockerClient(base_url=self.host, version="auto", timeout=self._timeout_s)
            self._local.client = client
        return client
