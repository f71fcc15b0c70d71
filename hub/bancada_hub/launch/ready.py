"""Waiting for a server to answer: by asking it twenty times a second, as JupyterHub's own back-off loses seconds."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit

POLL_S = 0.05
LOOK_S = 0.5
"""The engine is asked this often whether the server still lives: the address of one that ended answers only slowly."""
ANSWER_WITHIN_S = 5.0


async def wait_until_ready(url: str, ended: Callable[[], Awaitable[bool]]) -> bool:
    """Return True as soon as a server answers, False when it has ended instead.

    There is no deadline here: JupyterHub cancels a start that takes longer than its start_timeout.

    Args:
        url: An address of the server that answers without a login.
        ended: Says whether the server is gone.
    """
    looked = time.monotonic()
    while not await answers(url):
        if time.monotonic() - looked > LOOK_S:
            if await ended():
                return False
            looked = time.monotonic()
        await asyncio.sleep(POLL_S)
    return True


async def answers(url: str) -> bool:
    """Return whether an http address answers with success."""
    parts = urlsplit(url)
    with suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(ANSWER_WITHIN_S):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            try:
                request = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
                writer.write(request.encode("ascii"))
                status = (await reader.readline()).split()
            finally:
                writer.close()
        return len(status) > 1 and status[1] == b"200"
    return False
