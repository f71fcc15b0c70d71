"""`bancada status`: is the site up, what is being prepared, what to back up."""

import argparse
import json
import sys
from datetime import UTC, datetime
from typing import Any

from bancada_hub.cli.where import add_site_options, opened
from bancada_hub.host.pages import answer
from bancada_hub.host.services import services_for
from bancada_hub.installation import Installation
from bancada_hub.store import catalog, steps
from bancada_hub.store.database import Store


def register(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the noun."""
    parser = subparsers.add_parser("status", help="whether the site is up, and the paths to back up")
    add_site_options(parser)
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    installation, store = opened(arguments)
    state = read_state(installation, store)
    sys.stdout.write(json.dumps(state) + "\n" if arguments.json else _words(state))
    return 0 if state["answers"] else 1


def read_state(installation: Installation, store: Store) -> dict[str, Any]:
    """Return what `status --json` prints."""
    places, site, now = installation.places, installation.site, datetime.now(UTC)
    with store.read() as session:
        preparation, revisions = steps.steps(session), catalog.published_revisions(session)
    services = services_for(installation.facts.site_id, places.site)
    return {
        "site": site.name,
        "id": installation.facts.site_id,
        "url": site.url,
        "engine": site.engine,
        "answers": answer(site, "/hub/login") == 200,
        "programs": [{"name": each.name, "running": each.running, "pid": each.pid} for each in services.status()],
        "preparation": [
            {"title": each.title, "state": "stopped" if each.stalled(now) else each.state, "detail": each.detail}
            for each in preparation
        ],
        "images": {each.image_key: each.built.digest for each in revisions},
        "outside": [str(path) for path in services.outside()],
        "back_up": [str(path) for path in _to_back_up(installation)],
    }


def _to_back_up(installation: Installation) -> list[Any]:
    places = installation.places
    database = [] if installation.site.database.url else [places.database_file, places.hub_database_file]
    return [places.settings_file, places.secrets, *database, places.fs, places.state(0).parent]


def _words(state: dict[str, Any]) -> str:
    lines = [f"{state['site']} ({state['id']}), engine {state['engine']}"]
    lines.append(f"  {state['url']}  {'answers' if state['answers'] else 'does not answer: ./bancada up starts it'}")
    for program in state["programs"]:
        running = f"runs, pid {program['pid']}" if program["running"] else "does not run"
        lines.append(f"  {program['name']:<10} {running}")
    lines.append("Preparation")
    lines += [f"  {step['state']:<10} {step['title']}  {step['detail']}".rstrip() for step in state["preparation"]]
    lines.append("Images")
    lines += [f"  {key:<10} {digest}" for key, digest in state["images"].items()] or ["  none yet"]
    if state["outside"]:
        lines.append("Written outside the data directory")
        lines += [f"  {path}" for path in state["outside"]]
    lines.append("Back up (with the site down, or from a file system snapshot)")
    lines += [f"  {path}" for path in state["back_up"]]
    return "\n".join(lines) + "\n"
