"""REST of a person's projects: list, start, state, stop or cancel, reset the environment.

A browser without scripts posts forms here and is sent back to Work; scripts and programs get JSON.
"""

import asyncio
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

from bancada_hub.console import ends, servers
from bancada_hub.console.access import Who
from bancada_hub.console.choice import query_of
from bancada_hub.console.errors import BadBodyError, EngineSilentError, NotNowError, later
from bancada_hub.console.gpu_choice import asked_for
from bancada_hub.console.handlers.base import Handler
from bancada_hub.console.projects import (
    Card,
    Records,
    own_project,
    read_ends,
    read_records,
    report_of,
    server_of,
    work_of,
)
from bancada_hub.console.routes import PREFIX, Field, Route, Rule
from bancada_hub.console.server_api.reports import Report
from bancada_hub.errors import HostError, told
from bancada_hub.gpus.asking import Asker
from bancada_hub.gpus.scheduling.rules import Purpose
from bancada_hub.gpus.scheduling.values import OnGrant
from bancada_hub.launch import silence
from bancada_hub.launch.choices import KINDS, WITHOUT_GPU, Choices, parse_choices
from bancada_hub.launch.facts import read_facts
from bancada_hub.launch.plan import plan
from bancada_hub.launch.room import Offer, check_room
from bancada_hub.launch.sizes import SIZES
from bancada_hub.projects.overlay_reset import reset_overlay
from bancada_hub.roles import Action
from bancada_hub.store import server_ends
from bancada_hub.store.overlays import OverlayKey
from bancada_hub.store.projects import Project
from bancada_hub.store.requests import RequestState
from bancada_hub.store.servers import remember_size
from bancada_hub.ui.language import Words

WAITING = "waiting"
"""What a start is while its person waits for the GPU that they asked for."""


class ProjectHandler(Handler):
    """Acts on one project of the person who asks."""

    async def own(self, slug: str) -> tuple[Records, Project]:
        """Return the person's records and their project of this slug; 404 for any other."""
        records = await asyncio.to_thread(read_records, self.context.launch.store, self.person_name)
        return records, own_project(records, slug)

    def done(self, value: dict[str, object], status: int = 202) -> None:
        """Answer a script with JSON; send a browser that posted a form back to Work."""
        if self.wants_json:
            self.send_json(value, status)
        else:
            # The page that the form stood on may have shown one project alone; it does so again.
            before = parse_qs(urlsplit(self.request.headers.get("Referer", "")).query)
            self.redirect(PREFIX + query_of(before.get("project", [""])[0]), status=303)


class Projects(Handler):
    """GET api/projects."""

    json_only = True

    async def get(self) -> None:
        """Answer the person's projects, each with its image and its server."""
        records = await asyncio.to_thread(read_records, self.context.launch.store, self.person_name)
        work = await work_of(self.context, records)
        since = await asyncio.to_thread(silence.silent_since, self.context.launch.places)
        self.send_json(
            {
                "projects": [_project(card, self.look.words) for card in work.cards],
                "engine_silent_since": since.isoformat(timespec="seconds") if since else None,
            }
        )


class Start(ProjectHandler):
    """POST api/projects/<slug>/start."""

    async def post(self, slug: str) -> None:
        """Start the person's server of this project, after the same plan that the spawner makes."""
        records, project = await self.own(slug)
        wanted = self.body.pop("gpu")
        if wanted not in ("", WITHOUT_GPU) and asked_for(wanted) is None:
            raise BadBodyError(told("The field “gpu” can be no, a number, shared, or part: with a size."))
        choices = parse_choices(self.body | {"gpu": wanted if wanted == WITHOUT_GPU else ""})
        if wanted not in ("", WITHOUT_GPU) and not await self._granted(project, wanted, choices):
            self.done({"project": project.slug, "state": WAITING})
            return
        chosen: dict[str, str] = {"kind": choices.kind} | ({"size": choices.size} if choices.size else {})
        chosen |= {"gpu": WITHOUT_GPU} if choices.gpu else {}
        async with self.recorded(f"project:{project.slug}", **chosen):
            await asyncio.to_thread(_check, self, records, project, choices)
            await self.context.starts.begin(
                records.person.name, project.slug, {**chosen, "language": self.look.words.tag}
            )
        self.done({"project": project.slug, "state": servers.Phase.STARTING.value})

    async def _granted(self, project: Project, wanted: str, choices: Choices) -> bool:
        """Ask for cards; say whether they are there at once. Otherwise the queue starts the server when they are."""
        asked = {**(asked_for(wanted) or {}), "purpose": Purpose.INTERACTIVE.value, "on_grant": OnGrant.START.value}
        found = await self.context.queue.ask(self.actor, Asker(self.person_name, project.slug), asked)
        if choices.size:
            store = self.context.launch.store
            await asyncio.to_thread(remember_size, store, project.id, found.person_id, choices.size)
        return found.state is RequestState.GRANTED


class Server(ProjectHandler):
    """GET and DELETE api/projects/<slug>/server; POST api/projects/<slug>/stop for forms."""

    async def get(self, slug: str) -> None:
        """Answer the state of the person's server of this project."""
        records, project = await self.own(slug)
        found = await server_of(self.context, records, project.slug)
        report = report_of(self.context, records.person.name, project.slug, found)
        ended = await asyncio.to_thread(_ended, self, records, project, found)
        more = {"activity": _activity(report), "ended": ends.answer(ended, self.look.words)}
        self.send_json({**_server(found, self.look.words), **more})

    async def delete(self, slug: str) -> None:
        """Stop the server, or cancel its start."""
        records, project = await self.own(slug)
        async with self.recorded(f"project:{project.slug}"):
            await self.context.hub.stop(records.person.name, project.slug)
        self.done({"project": project.slug, "state": servers.Phase.STOPPING.value})


class Stop(Server):
    """The same for a browser's form, which cannot send DELETE."""

    SUPPORTED_METHODS = ("POST",)

    async def post(self, slug: str) -> None:
        """Stop the server, or cancel its start."""
        await self.delete(slug)


class Dismiss(ProjectHandler):
    """POST api/projects/<slug>/dismiss."""

    async def post(self, slug: str) -> None:
        """Tell no more how the last server ended."""
        records, project = await self.own(slug)
        store = self.context.launch.store
        seen = await asyncio.to_thread(ends.dismiss, store, self.actor, records.person.id, project)
        self.done({"seen": seen}, 200)


class Reset(ProjectHandler):
    """POST api/projects/<slug>/reset."""

    async def post(self, slug: str) -> None:
        """Throw away what the person changed in the project's environment; files stay."""
        records, project = await self.own(slug)
        server = await server_of(self.context, records, project.slug)
        if server.phase is not servers.Phase.STOPPED:
            raise NotNowError(
                later("The environment is in use, so it was not reset."), fix=later("Stop the project, then reset it.")
            )
        async with self.recorded(f"project:{project.slug}"):
            changed = await asyncio.to_thread(_reset, self, records, project)
        self.done({"project": project.slug, "reset": changed}, 200)


def _check(handler: Handler, records: Records, project: Project, choices: Choices) -> None:
    launch = handler.context.launch
    since = silence.silent_since(launch.places)
    if since is not None:
        raise EngineSilentError(silence.in_words(since), fix=later("Ask an administrator."))
    made = plan(read_facts(launch, records.person.name, project.slug), choices)
    check_room(launch.store, launch.site, made)


def _ended(
    handler: Handler, records: Records, project: Project, server: servers.ServerView
) -> server_ends.ServerEnd | None:
    if server.phase is not servers.Phase.STOPPED:
        return None
    return read_ends(handler.context.launch.store, records.person.id).get(project.id)


def _reset(handler: Handler, records: Records, project: Project) -> bool:
    """Return whether there was anything to throw away."""
    launch, person, revision = handler.context.launch, records.person, records.revision
    if revision is None:
        return False
    try:
        key = OverlayKey(project.id, person.id, revision.built.lower)
        return reset_overlay(launch.store, launch.places, key, person.uid)
    except HostError as error:
        raise NotNowError(error.what, fix=error.fix) from error


def _project(card: Card, words: Words) -> dict[str, object]:
    revision = card.revision
    image = (
        {"title": revision.image_title, "revision": revision.built.digest, "python": revision.built.python}
        if revision
        else None
    )
    return {
        "slug": card.project.slug,
        "title": card.project.title,
        "personal": card.project.personal,
        "image": image,
        "server": {
            **_server(card.server, words),
            "activity": _activity(card.report),
            "ended": ends.answer(card.ended, words),
        },
        "sizes": [_offer(offer, words) for offer in card.offers.offered] if card.offers else [],
        "usual_size": card.offers.usual if card.offers else "",
    }


def _offer(offer: Offer, words: Words) -> dict[str, object]:
    refusal = offer.refusal
    return {
        "size": offer.size,
        "memory_bytes": offer.memory_bytes,
        "cpus": offer.cpus,
        "fits": offer.fits,
        "message": words.gettext(refusal.what) if refusal else "",
        "fix": words.gettext(refusal.fix) if refusal else "",
    }


def _server(server: servers.ServerView, words: Words) -> dict[str, object]:
    return {
        "state": server.phase.value,
        "text": servers.describe(server, words),
        "progress": server.said,
        "seconds": round(server.seconds),
        "safe_mode": server.safe_mode,
        "url": server.url,
        "failure": server.failure,
    }


def _activity(report: Report | None) -> dict[str, object] | None:
    """Say what runs in a server as it reported last; nothing when it has not: silence is not idleness."""
    if report is None:
        return None
    return {
        "reported_at": report.at.isoformat(timespec="seconds"),
        "stale": report.stale(datetime.now(UTC)),
        "kernels": len(report.activity.kernels),
        "busy_kernels": report.busy,
        "terminals": len(report.activity.terminals),
        "last_activity": report.last_activity.isoformat(timespec="seconds") if report.last_activity else None,
    }


KIND = Field("kind", "“rescue” starts without the person's changes to the environment", default="work", choices=KINDS)
SIZE = Field("size", "of the server; without one, that of the start before, else “m”", default="", choices=("", *SIZES))
GPU = Field(
    "gpu",
    "how many GPUs: without enough of them the person waits in the queue, and the server starts by itself; “no” for "
    "none; “shared” for a place on a shared one, without memory protection; “part:1g.10gb” for a part of one of that "
    "size (MIG); without one, what was granted",
    default="",
)
OWN = Action.WORK_IN_PROJECT
STOPS = Rule(OWN, "Stop one's own server of a project, or cancel its start.", answer="UnderWay", audit="server.stop")

ROUTES = [
    Route(
        "api/projects",
        Projects,
        {"GET": Rule(Who.PERSON, "One's own projects, each with its image and server.", answer="Projects")},
    ),
    Route(
        "api/projects/{project}/start",
        Start,
        {
            "POST": Rule(
                OWN,
                "Start one's own server of a project, or wait for the GPUs that it is to have.",
                answer="UnderWay",
                audit="server.start",
                body=(KIND, SIZE, GPU),
            )
        },
    ),
    Route(
        "api/projects/{project}/server",
        Server,
        {"GET": Rule(OWN, "The state of one's own server of a project.", answer="Server"), "DELETE": STOPS},
    ),
    Route("api/projects/{project}/stop", Stop, {"POST": STOPS}),
    Route(
        "api/projects/{project}/dismiss",
        Dismiss,
        {
            "POST": Rule(
                OWN,
                "Tell no more how one's last server of a project ended.",
                answer="Seen",
                audit="server.end-seen",
            )
        },
    ),
    Route(
        "api/projects/{project}/reset",
        Reset,
        {
            "POST": Rule(
                OWN,
                "Throw away one's own changes to a project's environment.",
                answer="EnvironmentReset",
                audit="environment.reset",
            )
        },
    ),
]
