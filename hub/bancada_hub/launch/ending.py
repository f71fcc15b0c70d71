"""How a server ended that its person did not stop, and what they are told of it: once, and on the project's card."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import docker
from docker.errors import NotFound
from sqlalchemy.orm import Session

from bancada_hub.amounts import Bytes
from bancada_hub.errors import Told, told
from bancada_hub.store import notices, people, projects, server_ends

KILLED = 137
"""The exit status of what was killed by SIGKILL, as the kernel does when a memory limit is reached."""

TO_WORK, WORK = told("Go to Work"), "/services/bancada/"


class Cause(StrEnum):
    """What ended a server."""

    ENGINE = "engine"
    MEMORY = "memory"
    REMOVED = "removed"
    ITSELF = "itself"
    OUTSIDE = "outside"
    SWITCHED_OFF = "switched-off"


@dataclass(frozen=True)
class Ending:
    """The end of a server.

    Args:
        status: Its exit status; 0 where nobody knows.
        cause: What ended it.
        at: When; None where nobody knows.
        memory_bytes: Its memory limit.
        by: Who ended it; empty when nobody did.
    """

    status: int
    cause: Cause
    at: datetime | None = None
    memory_bytes: int | None = None
    by: str = ""


def how_it_ended(client: docker.DockerClient, container: str) -> Ending | None:
    """Return how a container ended; None while it runs.

    An engine makes its default bridge anew whenever it starts without having kept its containers alive: a container
    that is older than that bridge was ended by the engine, whatever its exit status.
    """
    try:
        state = client.api.inspect_container(container)["State"]
    except NotFound:
        return Ending(0, Cause.REMOVED)
    if state["Running"]:
        return None
    status, at = int(state["ExitCode"]), datetime.fromisoformat(state["FinishedAt"])
    if state.get("OOMKilled") and status == KILLED:  # a kernel that was killed earlier leaves the mark alone
        return Ending(status, Cause.MEMORY, at)
    began = _engine_began(client)
    older = began is not None and datetime.fromisoformat(state["StartedAt"]) < began
    return Ending(status, Cause.ENGINE if older else Cause.ITSELF, at)


def tell_ended(session: Session, name: str, slug: str, ending: Ending) -> None:
    """Tell a person that a server of theirs ended, and keep why for its card.

    Nothing of one that was shut down from inside, as they do themselves.

    Args:
        session: A writing session.
        name: Whose server.
        slug: Its project's.
        ending: How it ended.
    """
    if ending.cause is Cause.ITSELF and ending.status == 0:
        return
    person, project = people.find_person(session, name), projects.find_project(session, slug)
    if person is None or project is None:
        return
    at = ending.at or datetime.now(UTC)
    # Both are stopped alike; the account tells them apart.
    off = ending.cause is Cause.OUTSIDE and person.disabled
    cause = Cause.SWITCHED_OFF if off else ending.cause
    end = server_ends.ServerEnd(at, cause, ending.status, ending.memory_bytes, ending.by)
    server_ends.keep_end(session, project.id, person.id, end)
    text = _notice(project.title, end)
    if text is not None:
        notices.add_notice(
            session, person.id, notices.NewNotice(text, notices.WARNING, action_label=TO_WORK, action_url=WORK)
        )


def why(end: server_ends.ServerEnd) -> tuple[Told, Told]:
    """Return why a server stopped, as it follows “Stopped at 14:05:”, and what to do."""
    again = told("Start it again. Your files and environment are as they were.")
    if end.cause == Cause.MEMORY:
        text = told("it used all of its memory.")
        if end.memory_bytes:
            text = told("it used all of its %(memory)s of memory.", memory=Bytes(end.memory_bytes))
        return text, told(
            "Start it again with a larger size, or let it hold less at once. Files that were saved and your "
            "environment are as they were."
        )
    if end.cause == Cause.REMOVED:
        return told("its container was removed on this machine."), again
    if end.cause == Cause.ENGINE:
        return told("the container engine of this machine stopped or was restarted."), again
    if end.cause == Cause.OUTSIDE:
        if end.by:
            return told("%(person)s took you out of the project.", person=end.by), told("Your files are as they were.")
        return told("you were no longer in the project."), told("Your files are as they were.")
    if end.cause == Cause.SWITCHED_OFF:
        return told("your account was switched off."), again
    return told("it ended by itself (exit status %(status)s).", status=end.status), told(
        "Start it again; if it happens again, start it in safe mode or ask an administrator."
    )


def _notice(title: str, end: server_ends.ServerEnd) -> Told | None:
    """Return the notice of an end; None for one of which the person was told otherwise."""
    if end.cause == Cause.ENGINE:
        return told(
            "The container engine of this machine stopped or was restarted, and your server of %(project)s ended with "
            "it. Your files and environment are as they were.",
            project=title,
        )
    if end.cause == Cause.MEMORY and end.memory_bytes is None:
        return told(
            "Your server of %(project)s needed more memory than its limit and was ended. Your files and environment "
            "are as they were.",
            project=title,
        )
    if end.cause == Cause.MEMORY:
        return told(
            "Your server of %(project)s used all of its %(memory)s of memory and was ended. Files that were saved and "
            "your environment are as they were.",
            project=title,
            memory=Bytes(end.memory_bytes or 0),
        )
    if end.cause == Cause.REMOVED:
        return told(
            "Your server of %(project)s is gone: its container was removed. Your files and environment are as they "
            "were.",
            project=title,
        )
    if end.cause in {Cause.OUTSIDE, Cause.SWITCHED_OFF}:
        return None
    return told(
        "Your server of %(project)s ended (exit status %(status)s). Your files and environment are as they were.",
        project=title,
        status=end.status,
    )


def _engine_began(client: docker.DockerClient) -> datetime | None:
    try:
        return datetime.fromisoformat(client.api.inspect_network("bridge")["Created"])
    except NotFound:
        return None  # an engine without one says nothing about its start
