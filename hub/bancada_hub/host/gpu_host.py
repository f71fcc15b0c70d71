"""What a host with NVIDIA cards needs before servers can have them: what there is, what is missing, what to do.

Facts are read in one place and judged in another, so that each missing piece can be tried without its machine.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bancada_hub.errors import told
from bancada_hub.host.checks import Check

NVIDIA = "0x10de"
DISPLAY = "0x03"
"""PCI class of display controllers; a card's sound and bridges have others."""
CDI_FOLDERS = ("etc/cdi", "var/run/cdi")
TOOLKIT = "nvidia-container-toolkit"
OLDEST_CDI_API = (1, 44)
"""Docker 25, the first engine that reads CDI by itself."""
ANSWER_S = 20


@dataclass(frozen=True)
class GpuHost:
    """What was found on the machine.

    Args:
        cards: PCI addresses of NVIDIA cards.
        module: Version of the kernel's driver; empty when it is not loaded.
        library: Version that the driver's library gave; empty when it gave none.
        library_error: Why it gave none.
        toolkit: Version of the container toolkit; empty when it is not installed.
        hook: Whether the engine's hook is on the PATH.
        runtimes: The engine's runtimes.
        cdi: Whether a CDI specification of NVIDIA is there.
        api: The engine's API version.
    """

    cards: tuple[str, ...] = ()
    module: str = ""
    library: str = ""
    library_error: str = ""
    toolkit: str = ""
    hook: bool = False
    runtimes: tuple[str, ...] = ()
    cdi: bool = False
    api: tuple[int, ...] = ()


def read_host(engine: Mapping[str, Any], library: str, library_error: str, root: Path = Path("/")) -> GpuHost:
    """Read what there is.

    Args:
        engine: What the engine says of itself (docker info), with its ApiVersion; empty without one.
        library: The driver's version by its library; empty when it gave none.
        library_error: Why it gave none.
        root: Where the machine's files are.
    """
    return GpuHost(
        cards=tuple(_cards(root)),
        module=_module(root),
        library=library,
        library_error=library_error,
        toolkit=_toolkit(),
        hook=shutil.which("nvidia-container-runtime-hook") is not None,
        runtimes=tuple(engine.get("Runtimes") or ()),
        cdi=any(list((root / folder).glob("*nvidia*")) for folder in CDI_FOLDERS),
        api=tuple(int(part) for part in str(engine.get("ApiVersion", "")).split(".") if part.isdecimal()),
    )


def check_host(found: GpuHost) -> list[Check]:
    """Return what servers need to have cards, in the order in which a person would mend it."""
    if not found.cards and not found.library:
        return [Check("gpu-card", ok=True, detail=told("This machine has no NVIDIA card: servers work without."))]
    checks = [_card(found), _driver(found), _library(found)]
    if not all(check.ok for check in checks):
        return checks
    return [*checks, _has_toolkit(found), _configured(found)]


def _card(found: GpuHost) -> Check:
    count = len(found.cards)
    return Check("gpu-card", ok=True, detail=told("NVIDIA cards on the bus: %(n)s.", n=count or "?"))


def _driver(found: GpuHost) -> Check:
    if found.module:
        loaded = told("The kernel's driver %(version)s is loaded.", version=found.module)
        return Check("gpu-driver", ok=True, detail=loaded)
    fix = told(
        "Install NVIDIA's driver for this kernel, then restart the machine: apt-get install nvidia-driver (Debian, "
        "non-free). Bancada never installs it."
    )
    return Check("gpu-driver", ok=False, detail=told("The kernel's NVIDIA driver is not loaded."), fix=fix)


def _library(found: GpuHost) -> Check:
    if found.library and found.module and found.library != found.module:
        words = {"library": found.library, "module": found.module}
        detail = told("The driver's library is %(library)s and the kernel's driver %(module)s.", **words)
        fix = told("The driver was updated while it ran: restart the machine, once nobody computes.")
        return Check("gpu-library", ok=False, detail=detail, fix=fix)
    if found.library:
        return Check("gpu-library", ok=True, detail=told("The driver's library answers."))
    why = found.library_error or "-"
    detail = told("The driver's library does not answer: %(why)s", why=why)
    fix = told("See what it says itself: nvidia-smi. A driver that was updated needs a restart of the machine.")
    return Check("gpu-library", ok=False, detail=detail, fix=fix)


def _has_toolkit(found: GpuHost) -> Check:
    if found.toolkit:
        return Check("gpu-toolkit", ok=True, detail=told("The container toolkit %(version)s.", version=found.toolkit))
    fix = told(
        "Let Bancada do it: ./bancada doctor gpu --install. By hand: apt-get install %(package)s", package=TOOLKIT
    )
    return Check("gpu-toolkit", ok=False, detail=told("NVIDIA's container toolkit is not installed."), fix=fix)


def _configured(found: GpuHost) -> Check:
    if "nvidia" in found.runtimes:
        return Check("gpu-engine", ok=True, detail=told("The engine has the runtime “nvidia”."))
    if found.cdi and found.api >= OLDEST_CDI_API:
        return Check("gpu-engine", ok=True, detail=told("The engine finds the cards by CDI."))
    if found.hook and found.api < OLDEST_CDI_API:
        return Check("gpu-engine", ok=True, detail=told("The engine calls NVIDIA's hook."))
    fix = told(
        "Let Bancada do it: ./bancada doctor gpu --install. By hand: nvidia-ctk runtime configure --runtime=docker, "
        "then restart the engine."
    )
    return Check("gpu-engine", ok=False, detail=told("The engine does not know the cards."), fix=fix)


def _cards(root: Path) -> Iterator[str]:
    for device in sorted((root / "sys/bus/pci/devices").glob("*")):
        try:
            vendor, kind = (device / "vendor").read_text().strip(), (device / "class").read_text().strip()
        except OSError:
            continue
        if vendor == NVIDIA and kind.startswith(DISPLAY):
            yield device.name


def _module(root: Path) -> str:
    try:
        text = (root / "proc/driver/nvidia/version").read_text()
    except OSError:
        return ""
    found = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return found[1] if found else ""


def _toolkit() -> str:
    program = shutil.which("nvidia-ctk")
    if program is None:
        return ""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\b(\d+\.\d+\.\d+\S*)", said.stdout)
    return found[1] if found else ""
