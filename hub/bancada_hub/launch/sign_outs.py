"""Ends, on the hub's clock, the sessions of people whom the hub has not met since they were signed out."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from bancada_hub.launch.again import again_and_again
from bancada_hub.people.sessions import sign_out
from bancada_hub.store import people
from bancada_hub.store.database import Store

EVERY_S = 10.0
"""For so long at most may a server's own page go on with a session that is over (and until it next reports)."""

WITHIN_S = 30.0


def keep_signing_out(
    store: Store, users: Callable[[], Any], loop: asyncio.AbstractEventLoop, every_s: float = EVERY_S
) -> threading.Event:
    """Look now and again on a clock; returns what ends that when it is set.

    Args:
        store: The database.
        users: Says who JupyterHub's users are, once it has them.
        loop: The hub's, in which alone its database is touched.
        every_s: Seconds between two looks.
    """

    async def at_hub(person: people.Person) -> None:
        await sign_out(store, users().get(person.name), person)

    def look() -> None:
        with store.read() as session:
            due = people.to_sign_out(session)
        for person in due:
            asyncio.run_coroutine_threadsafe(at_hub(person), loop).result(WITHIN_S)

    return again_and_again("sign-outs", every_s, look, "People who were signed out may still have open sessions")
