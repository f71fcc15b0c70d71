"""Facts of a small site, for tests to change."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from bancada_hub.launch.plan import Facts, What, Where, Who
from bancada_hub.launch.sizes import Limits, Sizes, Ulimit
from bancada_hub.places import Places
from bancada_images.sources import PackageSources

GIB = 1024**3
ULIMITS = (Ulimit("memlock", -1, -1), Ulimit("nofile", 65_536, 65_536))
ANA = Who(name="ana", uid=2_000_000, disabled=False)
M = Limits(cpus=2.0, memory_bytes=4 * GIB, shm_bytes=2 * GIB, pids=4096, ulimits=ULIMITS)
S = replace(M, cpus=1.0, memory_bytes=2 * GIB, shm_bytes=GIB)
L = replace(M, cpus=4.0, memory_bytes=8 * GIB, shm_bytes=4 * GIB)
MAIN = Where(id=2, slug="main", gid=2_000_001, member=True)
MINIMAL = What(
    digest="sha256:" + "a1" * 32, tag="bancada/minimal:a1a1", lower="a1a1a1a1a1a1", server_environment="server-1"
)


def facts(**changes: Any) -> Facts:
    base = Facts(
        site_id="0123abcd",
        places=Places(Path("/srv/bancada")),
        sources=PackageSources(),
        sizes=Sizes(S, M, L),
        network="bancada-0123abcd",
        server_name="main",
        who=ANA,
        where=MAIN,
        what=MINIMAL,
        preparation="",
    )
    return replace(base, **changes)
