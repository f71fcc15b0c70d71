"""Whether a server sees exactly the cards of its lease, before it serves.

The driver's library is asked in a process of its own with a deadline: a call into a sick driver can hang for minutes.
"""

import subprocess
import sys
from collections.abc import Mapping

from bancada.contract import StartFailure
from bancada.server.walls import NO_CARDS, VISIBLE_CARDS

DEADLINE_S = 30.0
"""The library's first call takes one to three seconds on machines of eight cards without persistence mode."""
PART = "MIG-"
_ASK = """
import ctypes, sys
library = ctypes.CDLL("libnvidia-ml.so.1")

def must(status):
    if status:
        sys.exit(f"the driver's library answers {status}")

def name(device):
    text = ctypes.create_string_buffer(96)
    must(library.nvmlDeviceGetUUID(device, text, 96))
    return text.value.decode()

must(library.nvmlInit_v2())
count = ctypes.c_uint()
must(library.nvmlDeviceGetCount_v2(ctypes.byref(count)))
for number in range(count.value):
    device, parts = ctypes.c_void_p(), ctypes.c_uint()
    must(library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(device)))
    print(name(device))
    if library.nvmlDeviceGetMaxMigDeviceCount(device, ctypes.byref(parts)):
        continue
    for place in range(parts.value):
        part = ctypes.c_void_p()
        if library.nvmlDeviceGetMigDeviceHandleByIndex(device, place, ctypes.byref(part)) == 0:
            print(name(part))
"""
_TELL = "Ask an administrator to run ./bancada doctor."


def check_lease(environment: Mapping[str, str], deadline_s: float = DEADLINE_S) -> StartFailure | None:
    """Return what is wrong with the cards that this server sees; None when they are those of its lease.

    Args:
        environment: The server's variables; the lease is what the site put into NVIDIA_VISIBLE_DEVICES.
        deadline_s: How long the driver may take to answer.
    """
    named = environment.get(VISIBLE_CARDS, "")
    if named in NO_CARDS:
        return None
    leased = frozenset(named.split(","))
    try:
        asked = subprocess.run(
            [sys.executable, "-I", "-c", _ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environment),
            text=True,
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _failure(f"The GPU's driver has not answered within {deadline_s:.0f} s.")
    if asked.returncode:
        why = (asked.stderr.strip().splitlines() or ["without a reason"])[-1]
        return _failure(f"The GPU of your lease cannot be used here: {why}.")
    return compare(leased, frozenset(asked.stdout.split()))


def compare(leased: frozenset[str], seen: frozenset[str]) -> StartFailure | None:
    """Return what is wrong when a server sees other cards than it has a lease of.

    The driver names the card of a leased part (MIG) too, of which the server has that part alone.

    Args:
        leased: UUIDs of the lease.
        seen: UUIDs that the driver names.
    """
    missing = leased - seen
    if missing:
        return _failure(f"The server does not see {', '.join(sorted(missing))}, which it has a lease of.")
    parts = any(name.startswith(PART) for name in leased)
    more = {name for name in seen - leased if name.startswith(PART) or not parts}
    return _failure(f"The server sees {', '.join(sorted(more))} and has no lease of it.") if more else None


def _failure(sentence: str) -> StartFailure:
    return StartFailure("cards", f"{sentence} {_TELL}")
