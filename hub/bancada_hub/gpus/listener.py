"""Waits for errors (Xid) that the driver reports of cards, in a process of its own that ends with its parent.

Run by bancada_hub.gpus.xids as `python -m bancada_hub.gpus.listener`. Writes one JSON line for each error; without a
driver, or when the driver ends, it ends too.
"""

import ctypes
import os
import sys
import threading
from types import ModuleType
from typing import Any

from bancada_hub.gpus.worker import bindings, say, text

WAIT_MS = 5000


def main() -> None:
    """Listen until standard input closes, or the driver ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        nvml = bindings()
    except ImportError:
        return
    try:
        nvml.nvmlInit()
        listen(nvml)
    except nvml.NVMLError as error:
        sys.stderr.write(f"{error}\n")


def listen(nvml: ModuleType) -> None:
    """Write a line for each error of any card.

    Raises:
        NVMLError: The driver does not go on.
    """
    events = nvml.nvmlEventSetCreate()
    names = _register(nvml, events)
    say(listening=sorted(names.values()))
    while names:
        try:
            event = nvml.nvmlEventSetWait_v2(events, WAIT_MS)
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_TIMEOUT:
                continue
            raise
        card = names.get(_address(event.device))
        if card and event.eventType == nvml.nvmlEventTypeXidCriticalError:
            say(card=card, xid=int(event.eventData))


def _register(nvml: ModuleType, events: Any) -> dict[int, str]:  # noqa: ANN401 - NVML's
    """Ask for the errors of all cards that report any; returns their UUIDs by the address of their handle.

    A lost card does not say its name any more: what it is called is noted now.
    """
    names = {}
    for index in range(int(nvml.nvmlDeviceGetCount())):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            uuid = text(nvml.nvmlDeviceGetUUID(handle))
            nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, events)
        except nvml.NVMLError:
            continue  # lost, or of a kind that reports none
        names[_address(handle)] = uuid
    return names


def _address(handle: Any) -> int:  # noqa: ANN401 - NVML's
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # the other thread may hang in the driver


if __name__ == "__main__":
    main()
