"""Twenty random crashes in a row, or as many as BANCADA_CRASHES says; BANCADA_CRASH_SEED repeats a run.

The long run: `BANCADA_CRASHES=200 python -m pytest tests/crash -s --timeout 1500`.
"""

import os
import secrets
from collections.abc import Callable

from tests.crash.driver import Crashes
from tests.crash.site import CrashSite

COUNT = int(os.environ.get("BANCADA_CRASHES", "20"))


def test_random_crashes(answering: CrashSite, record_property: Callable[[str, object], None]) -> None:
    seed = int(os.environ.get("BANCADA_CRASH_SEED") or secrets.randbits(32))
    record_property("seed", seed)
    print(f"\nBANCADA_CRASH_SEED={seed}")
    crashes = Crashes(answering, seed)
    crashes.run(COUNT)
    crashes.stop_all()
    print(dict(sorted(crashes.counts.items())))
    print("seconds:", {name: round(took, 1) for name, took in sorted(crashes.seconds.items())})  # type: ignore[call-overload]
    print("longest, s:", {name: round(took, 1) for name, took in sorted(crashes.longest.items())})
    print("words kept:", sum(map(len, crashes.kept.words.values())), "files:", len(crashes.kept.files))
    assert crashes.counts["running after it"], "a run in which nothing ever ran shows nothing"
