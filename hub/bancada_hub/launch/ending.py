"""How a server ended that nobody stopped, and what its person is told of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import docker
from docker.errors import NotFound
from sqlalchemy.orm import Session

from bancada_hub.errors import told
from bancada_hub.store import notices, people, projects

TO_WORK, WORK = told("Go to Work"), "/services/bancada/"


class Cause(StrEnum):
    """What ended a server."""

    ENGINE = "engine"
    MEMORY = "memory"
    REMOVED = "removed"
    ITSELF = "itself"


@dataclass(frozen=True)
class Ending:
    """The end of a server; `status` is its exit status, 0 where nobody knows."""

    status: int
    cause: Cause


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
    status = int(state["ExitCode"])
    if state.get("OOMKilled"):
        return Ending(status, Cause.MEMORY)
    began = _engine_began(client)
    older = began is not None and datetime.fromisoformat(state["StartedAt"]) < began
    return Ending(status, Cause.ENGINE if older else Cause.ITSELF)


def tell_ended(session: Session, name: str, slug: str, ending: Ending) -> None:
    """Tell a person that a server of theirs ended; nothing when it was shut down from inside, as they do themselves.

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
    words = {
        Cause.ENGINE: told(
            "The container engine of this machine stopped or was restarted, and your server of %(project)s ended with "
            "it. Your files and environment are as they were.",
            project=project.title,
        ),
        Cause.MEMORY: told(
            "Your server of %(project)s needed more memory than its limit and was ended. Your files and environment "
            "are as they were.",
            project=project.title,
        ),
        Cause.REMOVED: told(
            "Your server of %(project)s is gone: its container was removed. Your files and environment are as they "
            "were.",
            project=project.title,
        ),
        Cause.ITSELF: told(
            "Your server of %(project)s ended (exit status %(status)s). Your files and environment are as they were.",
            project=project.title,
            status=ending.status,
        ),
    }
    new = notices.NewNotice(words[ending.cause], notices.WARNING, action_label=TO_WORK, action_url=WORK)
    notices.add_notice(session, person.id, new)


def _engine_began(client: docker.DockerClient) -> datetime | None:
    try:
        return datetime.fromisoformat(client.api.inspect_network("bridge")["Created"])
    except NotFound:
        return None  # an engine without one says nothing about its start
