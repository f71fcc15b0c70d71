"""`bancada up`: from a fresh machine to a running site.

The pages answer first; base, server environment and the first image are made behind them. Each step finds out by
itself whether it is done, so that the same command goes on after an interruption, and applies changed settings.
"""

import argparse
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from uv import find_uv_bin

from bancada_hub.catalog.examples import put_examples
from bancada_hub.catalog.prepare import Workshop, prepare
from bancada_hub.cli import settings, waiting
from bancada_hub.cli.programs import programs
from bancada_hub.cli.report import Report
from bancada_hub.cli.where import add_port_option, add_site_options, add_yes_option, ask
from bancada_hub.doctor_gpu import gpu_host
from bancada_hub.errors import EngineError, HostError
from bancada_hub.gpus.simulated import MOST
from bancada_hub.host import connection, debian, firewall
from bancada_hub.host.engine import ensure_engine
from bancada_hub.host.gpu_host import check_host
from bancada_hub.host.ports import Ports, check_ports
from bancada_hub.host.probe import probe_engine
from bancada_hub.host.proxy import ensure_proxy
from bancada_hub.host.services import services_for
from bancada_hub.installation import Facts, Installation, keep_facts, new_site_id, read_facts
from bancada_hub.launch.network import ensure_network
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.places import Places
from bancada_hub.projects.labs import FIRST_SLUG, FIRST_TITLE, create_lab
from bancada_hub.projects.overlay_reset import sweep
from bancada_hub.roles import Actor
from bancada_hub.site import Site, check_data_directory
from bancada_hub.store import labs, people
from bancada_hub.store.database import Store, migrate, open_store

ADMIN = "admin"


@dataclass
class Up:
    """One run of `bancada up`."""

    arguments: argparse.Namespace
    report: Report
    places: Places

    def run(self) -> int:
        """Take all steps; the first that fails ends the run."""
        self.report.line(f"Bancada at {self.places.data}")
        site = self._settings()
        facts = self._engine(site)
        installation = Installation(self.places, site, facts)
        services = services_for(facts.site_id, self.places.site)
        with self.report.step("Ports") as line:
            check_ports(site.bind, facts.gateway, Ports.from_base(site.port), services)
            line.outcome = f"{site.port} to {site.port + 4}"
        store, password = self._database(installation)
        with self.report.step("Proxy") as line:
            command = ensure_proxy(site.packages.sources().host_environment(), line.say)
        with self.report.step("Hub, console and proxy") as line:
            services.start(programs(installation, command))
            waiting.for_login_page(installation, services, line.say)
            line.outcome = site.url
        self._gpus(installation)
        self._greet(site, password)
        self._prepare(installation, store)
        self.report.line(f"\nReady. Sign in at {site.url}")
        return 0

    def _settings(self) -> Site:
        with self.report.step("Settings") as line:
            check_data_directory(self.places.data)
            engine = self._chosen_engine()
            make_folders(self.places)
            site = settings.settle(self.places, engine=engine, port=self.arguments.port)
            line.outcome = str(self.places.settings_file)
        return site

    def _chosen_engine(self) -> str | None:
        """Return the engine for a new site: as asked, or the one that this account can have, with the reason."""
        if self.arguments.engine or self.places.settings_file.exists():
            engine: str | None = self.arguments.engine
            return engine
        reason = _why_not_docker()
        if reason:
            self.report.line(f"  Without containers and isolation (--engine process), because {reason}")
            return "process"
        return "docker"

    def _engine(self, site: Site) -> Facts:
        known = read_facts(self.places) or Facts(site_id=new_site_id())
        if self.arguments.simulate_gpus is not None:
            known = replace(known, simulated_gpus=self.arguments.simulate_gpus)
        if site.engine == "process":
            keep_facts(self.places, known)
            return known
        with self.report.step("Container engine") as line:
            asked = ask if sys.stdin.isatty() else None
            log = self.places.logs / "dockerd.log"
            engine = ensure_engine(agreed=self.arguments.yes, ask=asked, log=log, say=line.say)
            line.outcome = f"Docker {engine.version}"
        with self.report.step("What the engine can do") as line:
            checks = probe_engine(engine, self.places.cache)
            failed = [check for check in checks if not check.ok]
            line.outcome = f"{len(checks) - len(failed)} of {len(checks)} checks passed"
            if failed:
                what = "\n".join(check.detail for check in failed)
                fixes = "\n".join(check.fix for check in failed if check.fix)
                raise EngineError(what, fix=f"{fixes}\nWithout containers: ./bancada up --engine process --data DIR")
        with self.report.step("Bridge for servers") as line:
            network = ensure_network(
                connection.client(engine), known.site_id, site.network.subnet or known.subnet or None
            )
            line.outcome = f"{network.name}, {network.subnet}"
        facts = replace(
            known,
            engine_host=engine.host,
            network=network.name,
            gateway=network.gateway,
            subnet=network.subnet,
            bridge=network.bridge,
        )
        keep_facts(self.places, facts)
        self._firewall(Installation(self.places, site, facts))
        return facts

    def _firewall(self, installation: Installation) -> None:
        with self.report.step("Firewall for servers") as line:
            if not firewall.has_nft():
                line.say(f"apt-get install {firewall.PACKAGE}")
                asked = ask if sys.stdin.isatty() else None
                debian.install([firewall.PACKAGE], reason=firewall.REASON, agreed=self.arguments.yes, ask=asked)
            changed = firewall.Firewall.of(installation).ensure()
            line.outcome = "in force"
            if not changed:
                line.unneeded("in force already")

    def _database(self, installation: Installation) -> tuple[Store, str]:
        with self.report.step("Database") as line:
            changed = migrate(installation.site, self.places)
            store = open_store(installation.site, self.places)
            if not changed:
                line.unneeded("up to date")
        with store.read() as session:
            everybody, some_lab = people.people(session), labs.labs(session)
        if not some_lab:
            create_lab(store, Actor.command_line(), FIRST_SLUG, FIRST_TITLE)
        if everybody:
            return store, ""
        with self.report.step("First account") as line:
            # Made here and told to nobody else: there is no need to change it.
            first = NewAccount(ADMIN, admin=True, must_change=False)
            _person, password = add_account(store, installation.site, Actor.command_line(), first)
            # Told at once: were it told at the end, an interruption before that would lose it.
            line.outcome = f"name {ADMIN}, password {password}"
        return store, password

    def _gpus(self, installation: Installation) -> None:
        """Say what a host with cards lacks for servers to have them; a site works without."""
        if installation.site.engine != "docker" or installation.facts.simulated_gpus:
            return
        found, _ = gpu_host(installation)
        checks = check_host(found)
        wrong = [check for check in checks if not check.ok]
        if len(checks) == 1 and not wrong:
            return  # no card
        with self.report.step("GPUs") as line:
            line.outcome = wrong[0].detail if wrong else f"{len(found.cards)} on the bus; servers can have them"
        if wrong:
            self.report.line(f"    {wrong[0].fix}\n    Servers start without GPUs until then: ./bancada doctor gpu")

    def _greet(self, site: Site, password: str) -> None:
        self.report.line(f"\n  Sign in at {site.url}")
        if password:
            self.report.line(f"  Name {ADMIN}, password {password}   (not shown again)")
        if os.environ.get("SSH_CONNECTION") and site.bind in {"127.0.0.1", "::1", "localhost"}:
            host = os.environ["SSH_CONNECTION"].split()[2]
            self.report.line(f"  From your own machine first: ssh -N -L {site.port}:127.0.0.1:{site.port} {host}")
        self.report.line()

    def _prepare(self, installation: Installation, store: Store) -> None:
        site, client = installation.site, None
        if site.engine == "docker":
            client = connection.connect(installation.facts.engine_host)
            if not site.base_image and debian.missing(["mmdebstrap"]):
                with self.report.step("Tool for the base system") as line:
                    line.say("apt-get install mmdebstrap")
                    reason = "Images stand on a base made from Debian's packages."
                    asked = ask if sys.stdin.isatty() else None
                    debian.install(["mmdebstrap"], reason=reason, agreed=self.arguments.yes, ask=asked)
        sweep(self.places)
        put_examples(self.places.examples)
        uv = Path(find_uv_bin())
        prepare(Workshop(installation, store, self.report, uv, client))


def _why_not_docker() -> str:
    """Return why this account cannot have containers here; empty when it can."""
    if sys.platform != "linux":
        return f"they need Linux, and this is {sys.platform}."
    if os.geteuid() != 0:
        return "they need root, and this account is not. Nobody is kept from anybody else's files or processes."
    return ""


def make_folders(places: Places) -> None:
    """Make the site's own folders; what people can write is made when it is first needed."""
    places.data.mkdir(mode=0o755, parents=True, exist_ok=True)
    for folder in (places.site, places.secrets, places.logs, places.run, places.cache, places.backups):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in (places.fs, places.lowers, places.datasets, places.examples, places.identities):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if not os.access(places.data, os.W_OK):
        msg = f"The data directory {places.data} cannot be written by this account."
        raise HostError(msg, fix="Run as root, or name another directory with --data DIR.")


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("up", help="set up and start this machine's site; run it again after any change")
    add_site_options(parser)
    add_port_option(parser)
    add_yes_option(parser)
    parser.add_argument(
        "--engine",
        choices=["docker", "process"],
        help="docker: a container for every server; process: plain processes, without isolation, for trials",
    )
    parser.add_argument(
        "--simulate-gpus",
        type=_cards,
        metavar="N",
        help=f"show N cards that are none, up to {MOST}, for trials without a GPU; 0 shows this machine's own again",
    )
    parser.set_defaults(run=_run)


def _cards(text: str) -> int:
    """Return a number of simulated cards."""
    if not text.isdecimal() or int(text) > MOST:
        msg = f"{text!r} is no whole number from 0 to {MOST}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _run(arguments: argparse.Namespace) -> int:
    return Up(arguments, Report(), Places(arguments.data)).run()
