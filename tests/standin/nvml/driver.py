"""Builds the stand-in driver, and writes scenarios for it."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynvml

HERE = Path(__file__).parent
NAME = "libnvidia-ml.so.1"
GIB = 2**30


def build(directory: Path) -> Path:
    """Compile the library; every function of the bindings that nvml.c lacks answers NOT_SUPPORTED."""
    names = sorted(set(re.findall(r'_nvmlGetFunctionPointer\("(\w+)"', Path(pynvml.__file__).read_text())))
    stubs = directory / "stubs.c"
    stubs.write_text("".join(f"__attribute__((weak)) int {name}(void) {{ return 3; }}\n" for name in names))
    library = directory / NAME
    command = ["gcc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-Wl,-soname,{NAME}"]
    subprocess.run([*command, "-o", str(library), str(HERE / "nvml.c"), str(stubs), "-lpthread"], check=True)
    return library


@dataclass(frozen=True)
class StandInDriver:
    """A built library and its scenario file."""

    library: Path
    file: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to find the library and the scenario."""
        return {"LD_LIBRARY_PATH": str(self.library.parent), "STANDIN_NVML": str(self.file)}

    def write(self, scenario: Mapping[str, Any]) -> None:
        """Make a scenario the present one, at one instant."""
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(scenario))
        os.replace(new, self.file)  # noqa: PTH105 - the name by which the change is known


def uuid(number: int) -> str:
    return f"GPU-{number:08x}-1111-2222-3333-444444444444"


def card(number: int, **more: object) -> dict[str, Any]:
    """Return a healthy card of 80 GiB."""
    return {
        "uuid": uuid(number),
        "name": "NVIDIA A100 80GB PCIe",
        "minor": number,
        "pci": f"00000000:{number + 0x3B:02X}:00.0",
        "numa_node": number // 2,
        "capability": [8, 0],
        "memory": {"total": 80 * GIB, "used": 8_000_000, "reserved": 900_000_000},
        "mig_mode": 0,
        "mig_maximum": 7,
        "utilization": 0,
        "utilization_memory": 0,
        "temperature": 34,
        "power_mw": 44_000,
        "clock_reasons": 1,
        "ecc_mode": 1,
        "ecc": {"corrected": 0, "uncorrected": 0},
        "remapped": {"corrected": 0, "uncorrected": 0, "pending": False, "failed": False},
        "processes": [],
        **more,
    }


def scenario(*cards: Mapping[str, Any], **more: object) -> dict[str, Any]:
    """Return a machine with these cards; those of one pair hang on one switch."""
    near = [[10 if one // 2 == two // 2 else 50 for two in range(len(cards))] for one in range(len(cards))]
    return {
        "driver": "550.90.07", "nvml": "12.550.90.07", "cuda": 12040, "cards": list(cards), "topology": near, **more,
    }  # fmt: skip
