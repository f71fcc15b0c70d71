"""Reads the cards through NVIDIA's library, in a process of its own that may be killed while it hangs in the driver.

Run by bancada_hub.gpus.nvml as `python -m bancada_hub.gpus.worker [INDEX[=UUID]…]`, with the numbers of cards to leave
out, and the UUIDs of those among them that were read before.
Writes one JSON line before each step that can hang and one after it.
"""

import importlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from types import ModuleType
from typing import Any

from bancada_hub.gpus.inventory import Card, Finding, Instance, Rows

NVLINKS = 18
"""The most links that a card has."""
NOT_AVAILABLE = 2**64 - 1
"""What the driver says for a number of bytes that it does not know (WSL, for one)."""
WORDS = 80


def main(left_out: dict[int, str]) -> None:
    """Read all cards but those that were read, or hung, before.

    Args:
        left_out: UUIDs by number; empty for a card that hung.
    """
    try:
        nvml = bindings()
    except ImportError as error:
        say(failed="bindings", words=str(error))
        return
    say(step="init")
    try:
        nvml.nvmlInit()
        driver, count = text(nvml.nvmlSystemGetDriverVersion()), int(nvml.nvmlDeviceGetCount())
    except nvml.NVMLError as error:
        say(failed="init", error=error.value, words=str(error), library=library_version(nvml))
        return
    say(driver=driver, count=count)
    handles = {uuid: handle for uuid in left_out.values() if (handle := handle_of(nvml, uuid)) is not None}
    for index in range(count):
        if index not in left_out:
            say(step=index)
            say(found=asdict(read_card(nvml, index, handles)))
    say(done=True)


def bindings() -> ModuleType:
    """Return NVIDIA's own bindings.

    Raises:
        ImportError: Another package's module has their name: several do.
    """
    with warnings.catch_warnings():  # the package named pynvml warns that it is the other's old name
        warnings.simplefilter("ignore")
        nvml = importlib.import_module("pynvml")  # what stands under this name is known only now
    if not all(hasattr(nvml, name) for name in ("_nvmlGetFunctionPointer", "nvmlDeviceGetRemappedRows")):
        msg = f"The Python module pynvml at {getattr(nvml, '__file__', '?')} is not that of nvidia-ml-py"
        raise ImportError(msg)
    return nvml


def handle_of(nvml: ModuleType, uuid: str) -> Any:  # noqa: ANN401 - NVML's
    """Return the handle of a card that was read before; None when it has gone since."""
    try:
        return nvml.nvmlDeviceGetHandleByUUID(uuid) if uuid else None
    except nvml.NVMLError:
        return None


def library_version(nvml: ModuleType) -> str | None:
    """Return the library's version, which it says even where it does not fit the driver."""
    try:
        return text(nvml.nvmlSystemGetNVMLVersion())
    except nvml.NVMLError:
        return None


def read_card(nvml: ModuleType, index: int, handles: dict[str, Any]) -> Finding:
    """Read one card; `handles` has those read before it, by UUID."""
    uuid = None
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        uuid = text(nvml.nvmlDeviceGetUUID(handle))
        say(named=index, uuid=uuid)  # so that a card which hangs from here on is known by its name
        card = _card(Reader(nvml), index, uuid, handle, handles)
    except nvml.NVMLError as error:
        return Finding(index, uuid, error.value, str(error))
    handles[uuid] = handle
    return Finding(index, uuid, card=asdict(card))


class Reader:
    """Reads values of one card; what the card does not say becomes None with the driver's words.

    Args:
        nvml: The bindings.
    """

    def __init__(self, nvml: ModuleType) -> None:
        self.nvml = nvml
        self.unread: dict[str, str] = {}

    def __call__(self, name: str, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever NVML answers
        """Return an answer, or None.

        Raises:
            NVMLError: The card is lost: nothing more can be read of it.
        """
        try:
            return ask()
        except self.nvml.NVMLError as error:
            if error.value == self.nvml.NVML_ERROR_GPU_IS_LOST:
                raise
            self.unread[name] = str(error)[:WORDS]
            return None


def _card(read: Reader, index: int, uuid: str, handle: Any, others: dict[str, Any]) -> Card:  # noqa: ANN401 - NVML's
    nvml = read.nvml
    memory = read("memory_bytes", lambda: nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2))
    capability = read("capability", lambda: nvml.nvmlDeviceGetCudaComputeCapability(handle))
    mig = read("mig", lambda: bool(nvml.nvmlDeviceGetMigMode(handle)[0]))
    rows = read("rows", lambda: nvml.nvmlDeviceGetRemappedRows(handle))
    processes = read("processes", lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle))
    near = {other: read(f"near.{other}", partial(_level, nvml, handle, at)) for other, at in others.items()}
    model, pci = _named(read, handle)
    return Card(
        uuid=uuid,
        index=index,
        model=model,
        memory_bytes=memory and amount(memory.total),
        used_bytes=None if memory is None else amount(memory.used),
        reserved_bytes=None if memory is None else amount(memory.reserved),
        pci=pci,
        numa_node=read("numa_node", lambda: nvml.nvmlDeviceGetNumaNodeId(handle)),
        capability=capability and "{}.{}".format(*capability),
        mig=mig,
        instances=tuple(_instances(read, handle)) if mig else (),
        use_ratio=_use(read, handle, mig=bool(mig)),
        uncorrected_errors=read("uncorrected_errors", lambda: _uncorrected(nvml, handle)),
        rows=rows and Rows(rows[0], rows[1], bool(rows[2]), bool(rows[3])),
        processes=None if processes is None else tuple(each.pid for each in processes),
        near=tuple((other, level) for other, level in near.items() if level is not None),
        nvlinks=tuple(_links(nvml, handle)),
        unread=tuple(read.unread.items()),
    )


def _named(read: Reader, handle: Any) -> tuple[str | None, str | None]:  # noqa: ANN401 - NVML's
    model = read("model", lambda: text(read.nvml.nvmlDeviceGetName(handle)))
    return model, read("pci", lambda: text(read.nvml.nvmlDeviceGetPciInfo(handle).busId).lower())


def _use(read: Reader, handle: Any, *, mig: bool) -> float | None:  # noqa: ANN401 - NVML's
    if mig:  # whatever the driver answers there, 0 for some releases, is not a card's use
        read.unread["use_ratio"] = "MIG does not report use"
        return None
    use = read("use_ratio", lambda: read.nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
    return None if use is None else use / 100


def _instances(read: Reader, handle: Any) -> Iterator[Instance]:  # noqa: ANN401 - NVML's
    nvml = read.nvml
    for place in range(read("instances", lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) or 0):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)
            uuid = text(nvml.nvmlDeviceGetUUID(part))
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_NOT_FOUND:  # places need not be filled from the first
                continue
            raise
        memory = read(f"{uuid}.memory", partial(nvml.nvmlDeviceGetMemoryInfo, part))
        name = read(f"{uuid}.name", partial(nvml.nvmlDeviceGetName, part))
        yield Instance(
            uuid, name and text(name), memory and amount(memory.total), None if memory is None else amount(memory.used)
        )


def _uncorrected(nvml: ModuleType, handle: Any) -> int:  # noqa: ANN401 - NVML's
    kind, since = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_AGGREGATE_ECC
    return int(nvml.nvmlDeviceGetTotalEccErrors(handle, kind, since))


def _level(nvml: ModuleType, one: Any, other: Any) -> int:  # noqa: ANN401 - NVML's
    return int(nvml.nvmlDeviceGetTopologyCommonAncestor(one, other))


def _links(nvml: ModuleType, handle: Any) -> Iterator[str]:  # noqa: ANN401 - NVML's
    for link in range(NVLINKS):
        try:
            if nvml.nvmlDeviceGetNvLinkState(handle, link):
                yield text(nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link).busId).lower()
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_GPU_IS_LOST:
                raise
            return  # a card without links, or the end of them


def amount(value: int) -> int | None:
    """Return a number of bytes; None for the driver's way of saying that it does not know."""
    return None if value == NOT_AVAILABLE else int(value)


def text(value: object) -> str:
    """Return what older bindings give as bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def say(**line: Any) -> None:  # noqa: ANN401 - any JSON
    """Write a line."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main({int(index): uuid for index, _, uuid in (argument.partition("=") for argument in sys.argv[1:])})
