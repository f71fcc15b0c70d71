"""Twenty random crashes in a row, or as many as BANCADA_CRASHES says; BANCADA_CRASH_SEED repeats a run.

The long run: `BANCADA_CRASHES=200 python -m pytest tests/crash -s --timeout 1500`.
"""

import os
import secrets
from collections.abc import Callable

import requests

from tests.crash.driver import Crashes
from tests.crash.site import CrashSite
from tests.hub.console.running import wait_until

COUNT = int(os.environ.get("BANCADA_CRASHES", "20"))


def test_random_crashes(site: CrashSite, record_property: Callable[[str, object], None]) -> None:
    seed = int(os.environ.get("BANCADA_CRASH_SEED") or secrets.randbits(32))
    record_property("seed", seed)
    print(f"\nBANCADA_CRASH_SEED={seed}")

    def answers() -> bool:
        try:
            return requests.get(site.url + "/services/bancada/api/preparation", timeout=5).status_code == 200
        except requests.ConnectionError:
            return False

    wait_until(answers, "the site answers")
    crashes = Crashes(site, seed)
    crashes.run(COUNT)
    print(dict(sorted(crashes.counts.items())))
    assert crashes.counts["running after it"], "a run in which nothing ever ran shows nothing"
