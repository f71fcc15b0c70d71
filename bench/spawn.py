"""How fast servers start: ours against the engine alone and against a stock JupyterHub, in one run, in turns.

    .venv/bin/python bench/spawn.py [--data DIR] [--port N] [--pairs N] [--rounds N] [--keep]

It makes a site of its own on the engine that DOCKER_HOST names, measures, and removes it (`--keep` leaves the site for
the next run, which saves its builds). The exit status says whether all goals were met.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import docker

from bancada_hub.errors import BancadaError
from spawning import plain, report
from spawning.client import BenchError, Signed
from spawning.own_site import BenchPerson, OwnSite, remove_trivial_image
from spawning.plain import Recipe, read_recipe
from spawning.report import Goal
from spawning.stock import OWN_COMMAND, Kind, StockHub

PLAIN = Goal("ours / docker run, median ratio", 1.2, at_most=True)
STOCK = Goal("stock / ours, median ratio", 1.5, at_most=False)
RATE = Goal("starts a minute, ours / stock, median ratio", 1.8, at_most=False)
AT_ONCE, REAL_AT_ONCE = 32, 4
METHOD = f"""method:
  ours          POST to /hub/api/users/NAME/servers/PROJECT through the proxy until the hub says that it is ready, of a
                site that ./bancada up made; JupyterLab in the image minimal.
  docker run    the same engine is asked for a container of the same command, environment, mounts and limits, with our
                hub answering; until GET …/api is answered with 200.
  stock         a stock JupyterHub with the stock DockerSpawner and proxy, of the same versions; same image, mounts and
                limits, and its own command, jupyterhub-singleuser, from the same server environment; measured as ours.
  One round is one start of each, one after the other, in an order that turns with the round; each is stopped before
  the next. One start of each kind comes before the first round and is not counted.
  Starts a minute: {AT_ONCE} people at once, in an image whose server answers 200 at once; from the first POST until the
  last is ready; ours and stock in turns; one round before the first is not counted.
  A ratio is of one round; the goals are for the median of the ratios, as a round that another program slows down is
  slow on all sides.
"""


@dataclass
class Bench:
    """One run.

    Args:
        client: The engine.
        site: Ours.
        stock: The stock hub.
        write: Where lines go.
    """

    client: docker.DockerClient
    site: OwnSite
    stock: StockHub
    write: report.Write
    met: list[bool] = field(default_factory=list)

    def run(self, pairs: int, rounds: int) -> bool:
        """Measure all; say whether every goal was met."""
        self.site.up()
        people = self.site.people(AT_ONCE)
        self.write(METHOD + report.machine(self.client.version()))
        real = self._recipe(people[0])
        with self.site.trivial_image(self.client):
            trivial = self._recipe(people[0])
        self.stock.up(
            {
                "default": Kind(real, [OWN_COMMAND]),
                "trivial": Kind(trivial, trivial.config["Entrypoint"]),
            }
        )
        strangers = [self.stock.sign_in(person.signed.name) for person in people]
        self._pairs(people[0], strangers[0], real, pairs)
        self._real_at_once(people[:REAL_AT_ONCE])
        with self.site.trivial_image(self.client):
            self._rate(people, strangers, rounds)
        return all(self.met)

    def _recipe(self, person: BenchPerson) -> Recipe:
        person.start()
        recipe = read_recipe(self.client, self.site.installation.facts.site_id)
        person.stop()
        return recipe

    def _pairs(self, person: BenchPerson, stranger: Signed, recipe: Recipe, pairs: int) -> None:
        def ours() -> float:
            return _and_then(person.start, person.stop)

        def alone() -> float:
            return _and_then(
                lambda: plain.run(self.client, recipe, person.signed.token), lambda: plain.remove(self.client)
            )

        def stock() -> float:
            return _and_then(lambda: stranger.start(""), lambda: stranger.stop(""))

        sides: dict[str, Callable[[], float]] = {
            "ours": ours,
            "docker run": alone,
            "stock": stock,
        }
        for side in sides.values():
            side()
        found: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(pairs):
            names = list(sides)
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                found[name].append(sides[name]())
        self.write("\nSeconds from POST to ready\n")
        against_plain = report.ratios(found["ours"], found["docker run"])
        against_stock = report.ratios(found["stock"], found["ours"])
        shown = found | {"ours / docker run": against_plain, "stock / ours": against_stock}
        report.show_rounds(self.write, shown, "s, s, s and ratios")
        self._judge(PLAIN, against_plain)
        self._judge(STOCK, against_stock)

    def _real_at_once(self, people: list[BenchPerson]) -> None:
        self.write(f"\n{len(people)} of JupyterLab at once\n")
        with ThreadPoolExecutor(len(people)) as threads:
            taken = [_result_of(one.result) for one in [threads.submit(person.start) for person in people]]
            list(threads.map(BenchPerson.stop, people))
        self.write("  ".join("failed" if value is None else f"{value:.2f} s" for value in taken) + "\n")
        self.met.append(None not in taken)
        self.write(f"all succeed: {'met' if self.met[-1] else 'NOT MET'}\n")

    def _rate(self, people: list[BenchPerson], strangers: list[Signed], rounds: int) -> None:
        def ours() -> float:
            return _together([person.start_small for person in people], [person.stop for person in people])

        def stock() -> float:
            return _together(
                [lambda who=who: who.start("trivial") for who in strangers],  # type: ignore[misc]
                [lambda who=who: who.stop("trivial") for who in strangers],  # type: ignore[misc]
            )

        ours(), stock()
        found: dict[str, list[float]] = {"ours": [], "stock": []}
        for number in range(rounds):
            for name, side in [("ours", ours), ("stock", stock)][:: 1 if number % 2 else -1]:
                found[name].append(side())
        self.write(f"\nStarts a minute, {len(people)} at once, trivial server\n")
        against_stock = report.ratios(found["ours"], found["stock"])
        report.show_rounds(self.write, found | {"ours / stock": against_stock}, "starts a minute, and their ratio")
        self._judge(RATE, against_stock)

    def _judge(self, goal: Goal, ratios: list[float]) -> None:
        ratio = statistics.median(ratios)
        self.met.append(goal.met(ratio))
        self.write(goal.verdict(ratio) + "\n")


def _and_then(measured: Callable[[], float], after: Callable[[], None]) -> float:
    try:
        return measured()
    finally:
        after()


def _together(starts: list[Callable[[], float]], stops: list[Callable[[], None]]) -> float:
    with ThreadPoolExecutor(len(starts)) as threads:
        begun = time.monotonic()
        for one in [threads.submit(start) for start in starts]:
            one.result()
        taken = time.monotonic() - begun
        for last in [threads.submit(stop) for stop in stops]:
            last.result()
    return 60 * len(starts) / taken


def _result_of(result: Callable[[], float]) -> float | None:
    try:
        return result()
    except BenchError as error:
        sys.stderr.write(f"{error}\n")
        return None


@contextmanager
def _bench(data: Path, port: int, *, keep: bool) -> Iterator[Bench]:
    site = OwnSite(data, port)
    site.claim()
    client = docker.DockerClient(base_url=os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"), timeout=180)
    folder = Path(tempfile.mkdtemp(prefix="bancada-bench-"))
    stock = StockHub(client, folder / "stock", port + 10)
    try:
        yield Bench(client, site, stock, sys.stdout.write)
    except BenchError as error:
        raise BenchError(f"{error}\n{stock.log()}") from error
    finally:
        stock.down()
        plain.remove(client)
        remove_trivial_image(client)
        site.down(remove=not keep)
        shutil.rmtree(folder)


def main() -> int:
    """Measure; the exit status says whether the goals are met."""
    parser = argparse.ArgumentParser(description="How fast servers start, against docker run and a stock JupyterHub.")
    parser.add_argument("--data", type=Path, default=Path("/var/tmp/bancada-bench"), help="the bench's own site")
    parser.add_argument("--port", type=int, default=9600, help="the first of the ports that it takes")
    parser.add_argument("--pairs", type=int, default=10, help="rounds of one start each")
    parser.add_argument("--rounds", type=int, default=3, help=f"rounds of {AT_ONCE} starts at once")
    parser.add_argument("--keep", action="store_true", help="leave the site, for the next run")
    chosen = parser.parse_args()
    try:
        with _bench(chosen.data.absolute(), chosen.port, keep=chosen.keep) as bench:
            return 0 if bench.run(chosen.pairs, chosen.rounds) else 1
    except (BenchError, BancadaError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
