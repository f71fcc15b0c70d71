"""The GPU queue over HTTP: requests a second, from a release to the next grant, and twenty kills on the way.

    .venv/bin/python bench/queue_http.py [--data DIR] [--port N] [--asks N] [--releases N] [--kills N]

It makes a site of its own with 64 simulated cards (`./bancada up --engine process --simulate-gpus 64`), puts 10,000
requests into its queue, measures, and removes the site. The exit status says whether all goals were met.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from queueing import measures
from queueing.own_site import CARDS, WAITING, QueueSite
from queueing.report import show

ASK_RATE, GRANT_P99_MS, RECOVERY_S = 300.0, 250.0, 1.0
METHOD = f"""method:
  site          ./bancada up, process engine, {CARDS} simulated cards; proxy, hub, console and this client share one
                machine.
  waiting       {WAITING} requests of one card each, on hold when granted, in the database before anything is timed.
  asks a second POST api/projects/PROJECT/gpu through the proxy by {measures.CONNECTIONS} connections at once, each
                person with a token of their own; an answer comes after the commit (SQLite, WAL, synchronous=FULL) of
                the request, its row in the audit, and the decision.
  release       POST api/queue/REQUEST/cancel of a grant that is held, one after the other; from the moment before it is
                sent until the grant of the next has been written, by that lease's own time stamp.
  kills         kill -9 of the console at random instants while requests are sent; the site's own supervisor starts it
                again. Back: from the kill until a request is answered. Reads all: from the first request that the new
                console answers, sent until answered: it reads all who wait. Afterwards the database is compared with
                every answer: nothing that was answered may be missing, no card may be held twice, the audit's chain is
                whole.
"""


def main() -> int:
    """Measure; the exit status says whether all goals are met."""
    parser = argparse.ArgumentParser(description="The GPU queue over HTTP.")
    parser.add_argument("--data", type=Path, help="where the bench's site lies; a new directory by default")
    parser.add_argument("--port", type=int, default=28_000, help="the first of the site's ports")
    parser.add_argument("--asks", type=int, default=1500, help="requests in the measured crowd")
    parser.add_argument("--releases", type=int, default=200, help="grants that are given back")
    parser.add_argument("--kills", type=int, default=20, help="how often the console is killed")
    wanted = parser.parse_args()
    sys.stdout.write(METHOD)
    with tempfile.TemporaryDirectory(prefix="bancada-queue-", dir="/var/tmp") as folder:
        site = QueueSite(wanted.data or Path(folder) / "site", wanted.port)
        begun = time.monotonic()
        site.up()
        try:
            site.fill()
            print(f"prepared in {time.monotonic() - begun:.0f} s")
            measures.warm_up(site)
            rate, answered_ms = measures.asks(site, wanted.asks)
            grants_ms = measures.releases(site, wanted.releases)
            back_s, reads_s, wrong = measures.kills(site, wanted.kills)
        finally:
            site.down()
    show("one request, ms", answered_ms)
    p99 = show("release to the next grant, ms", grants_ms)
    show("killed: until a request is answered, s", back_s)
    longest = show("killed: the first request after it, s", reads_s)
    print(f"asks a second: {rate:.0f} (goal {ASK_RATE:g})")
    print(f"release to the next grant, p99: {p99:.0f} ms (goal {GRANT_P99_MS:g})")
    print(f"first decision after a kill, p99: {longest:.2f} s (goal {RECOVERY_S:g})")
    print("after the kills: " + ("; ".join(wrong) or "nothing lost, no card held twice, the audit's chain is whole"))
    met = rate >= ASK_RATE and p99 <= GRANT_P99_MS and longest <= RECOVERY_S and not wrong
    print("All goals met." if met else "Not all goals met.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
