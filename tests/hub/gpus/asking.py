"""What other processes do in tests of the queue: ask, decide, or die on the way."""

import os
import time
from pathlib import Path

from bancada_hub.gpus import broker
from bancada_hub.gpus.scheduling.rules import ProjectRule
from bancada_hub.gpus.scheduling.values import OnGrant, Shape
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store.database import Store, open_store
from tests.hub.gpus.town import cards, rules

LAB = broker.Lab(cards(8), rules(*(ProjectRule(number, 1, person_limit=2) for number in range(1, 30))))


def opened(directory: str, url: str) -> Store:
    return open_store(Site(database={"url": url}) if url else Site(), Places(Path(directory)))


def ask(directory: str, url: str, pairs: list[tuple[int, int]]) -> list[int]:
    """Ask for one card for each pair, each in a transaction of its own that decides as well."""
    store, found = opened(directory, url), []
    for pair in pairs:
        with store.write() as session:
            now_s = time.time()
            found.append(broker.ask(session, pair, Shape(), OnGrant.HOLD, now_s))
            broker.decide(session, LAB, now_s)
    store.engine.dispose()
    return found


def die(directory: str, url: str, pair: tuple[int, int]) -> None:
    """Ask and decide, and be killed before the transaction ends."""
    with opened(directory, url).write() as session:
        broker.ask(session, pair, Shape(), OnGrant.HOLD, time.time())
        assert broker.decide(session, LAB, time.time()).grants
        os.kill(os.getpid(), 9)


def claim(directory: str, url: str, request_id: int, server: str) -> bool:
    """Claim a grant, as one of two browsers does."""
    store = opened(directory, url)
    with store.write() as session:
        got = broker.claim(session, request_id, server, time.time())
    store.engine.dispose()
    return got
