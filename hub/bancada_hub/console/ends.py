"""How a server ended that its person did not stop, as its card and the REST tell it; and saying that one knows."""

from dataclasses import dataclass
from datetime import datetime

from bancada_hub.launch.ending import Cause, Ending, tell_ended, why
from bancada_hub.launch.silence import clock
from bancada_hub.roles import Actor
from bancada_hub.store import trace
from bancada_hub.store.database import Store
from bancada_hub.store.projects import Project
from bancada_hub.store.server_ends import ServerEnd, forget_end
from bancada_hub.ui.language import Words


@dataclass(frozen=True)
class Shown:
    """The end of a server in words.

    Args:
        at: When.
        clock: The same as a page without scripts shows it.
        why: Why, as it follows “Stopped at 14:05:”.
        fix: What to do.
    """

    at: datetime
    clock: str
    why: str
    fix: str


def describe(end: ServerEnd, words: Words) -> Shown:
    """Return an end in words.

    Args:
        end: The end.
        words: The reader's.
    """
    text, fix = why(end)
    return Shown(end.at, clock(end.at), words.gettext(text), words.gettext(fix))


def answer(end: ServerEnd | None, words: Words) -> dict[str, object] | None:
    """Return an end as the REST answers it."""
    if end is None:
        return None
    shown = describe(end, words)
    return {
        "at": end.at.isoformat(timespec="seconds"),
        "cause": end.cause,
        "message": words.gettext("Stopped at %(time)s: %(why)s", time=shown.clock, why=shown.why),
        "fix": shown.fix,
    }


def keep_taken_out(store: Store, name: str, slug: str, by: str) -> None:
    """Keep that a server was stopped as its person was taken out of the project: they may come back to it.

    Args:
        store: The database.
        name: Whose server.
        slug: The project's.
        by: Who took them out.
    """
    with store.write() as session:
        tell_ended(session, name, slug, Ending(0, Cause.OUTSIDE, by=by))


def dismiss(store: Store, actor: Actor, person_id: int, project: Project) -> int:
    """Tell an end no more; returns how many that were."""
    with store.write() as session:
        if not forget_end(session, project.id, person_id):
            return 0
        trace.audit(session, trace.Entry(actor, "server.end-seen", f"project:{project.slug}"))
        return 1
