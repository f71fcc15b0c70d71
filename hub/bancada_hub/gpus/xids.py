"""Keeps a process listening for errors (Xid) of cards, and hands out what it heard."""

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Collection, Mapping

from bancada_hub.gpus.faults import Xid

MOST_KEPT = 1000


class XidListener:
    """Listens once there are cards; one that ended, or does not know a card yet, is begun anew at the next look.

    Args:
        environment: More variables for the process.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None
        self._begun_for: frozenset[str] = frozenset()
        self._heard: deque[Xid] = deque(maxlen=MOST_KEPT)
        self._ready = threading.Event()

    def listen(self, cards: Collection[str] = ()) -> None:
        """Begin to listen, unless it does already.

        Args:
            cards: UUIDs of the cards that answer now; one that did not when it began is listened to from now on.
        """
        if self._process is not None and self._process.poll() is None and self._begun_for.issuperset(cards):
            return
        self.close()
        self._begun_for = frozenset(cards)
        self._ready.clear()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "bancada_hub.gpus.listener"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            text=True,
        )
        threading.Thread(target=self._take, args=(self._process,), daemon=True).start()

    def wait_ready(self, within_s: float) -> bool:
        """Wait until it hears what happens; returns whether it does."""
        return self._ready.wait(within_s)

    def taken(self) -> tuple[Xid, ...]:
        """Return what was heard since this was asked last."""
        found = []
        while self._heard:
            found.append(self._heard.popleft())
        return tuple(found)

    def close(self) -> None:
        """End listening."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def _take(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None  # noqa: S101 - it was asked for above
        with process.stdout as output:
            for line in output:
                said = json.loads(line)
                if "xid" in said:
                    self._heard.append(Xid(said["card"], said["xid"]))
                else:
                    self._ready.set()
        process.wait()
