"""Asking for cards and giving a place up, for pages, REST and command line: who may, what is put on record."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from bancada_hub.errors import NotFound, PeopleError, told
from bancada_hub.gpus import broker
from bancada_hub.gpus.scheduling.door import Site, read_shape
from bancada_hub.gpus.settling import announce
from bancada_hub.naming import shown
from bancada_hub.roles import Action, Actor
from bancada_hub.store import leases, people, projects, requests, trace
from bancada_hub.store.database import Store
from bancada_hub.store.requests import RequestState, StoredRequest
from bancada_hub.store.standing import allowed, require


@dataclass(frozen=True)
class Asker:
    """Whose request it is: a person, for their work in a project.

    Args:
        person: The account name.
        project: The slug.
    """

    person: str
    project: str


def ask(
    store: Store, actor: Actor, asker: Asker, asked: Mapping[str, object], lab: broker.Lab, now_s: float
) -> StoredRequest:
    """Put somebody in the queue, and decide at once.

    Args:
        store: The database.
        actor: Who asks; on the machine's command line it may be for somebody else.
        asker: Whose request it is.
        asked: What for, as it came in; see `door.read_shape`.
        lab: The cards and rules.
        now_s: The instant, in seconds since 1970.

    Returns:
        The request as it is after the decision: granted, or waiting.

    Raises:
        Forbidden, NotFound: The actor may not work in the project.
        PeopleError: The person already waits or holds cards there: there is one server of theirs in a project.
        LaunchRefused: It can never be served; the message says why.
    """
    with trace.change(store, actor, "gpu.ask", f"project:{asker.project}") as made:
        session = made.session
        project, person = projects.find_project(session, asker.project), people.find_person(session, asker.person)
        if project is None or person is None or not projects.is_member(session, project.id, person.id):
            raise NotFound(
                told("%(person)s has no project “%(slug)s”.", person=asker.person, slug=shown(asker.project)),
                fix=told("See which there are: ./bancada project list"),
            )
        if actor.person_id != person.id:
            require(session, actor, Action.MANAGE_PEOPLE)
        pair = (project.id, person.id)
        _one_at_a_time(session, pair)
        site = Site(lab.cards, lab.rules, requests.count_waiting(session, person.id))
        shape, on_grant = read_shape(asked, pair, site, now_s)
        request_id = broker.ask(session, pair, shape, on_grant, now_s)
        made.detail |= {"request": request_id, "cards": shape.cards, "purpose": shape.purpose.value}
        announce(session, broker.decide(session, lab, now_s), but=request_id)
        found = requests.find_request(session, request_id)
        assert found is not None  # noqa: S101 - it was added above
        return found


def cancel(store: Store, actor: Actor, request_id: int, now_s: float) -> StoredRequest:
    """Take a request out of the queue, or give a grant back that no server has taken yet.

    Raises:
        NotFound: There is none that the actor may end, or it is over or in use.
    """
    with trace.change(store, actor, "gpu.cancel", f"request:{request_id}") as made:
        session = made.session
        found = requests.find_request(session, request_id)
        if found is None or not may_end(session, actor, found):
            raise _no_request(request_id)
        made.detail["project"] = found.project_id
        ended = broker.cancel(session, request_id, now_s)
        if not ended and not leases.give_up(session, request_id, now_s):
            raise _no_request(request_id)
        return found


def may_end(session: Session, actor: Actor, request: StoredRequest) -> bool:
    """Return whether an actor may end a request: their own, or one in a project whose members they manage."""
    if actor.person_id == request.person_id:
        return True
    project = projects.get_project(session, request.project_id)
    return allowed(session, actor, Action.MANAGE_MEMBERS, project.subject)


def _one_at_a_time(session: Session, pair: tuple[int, int]) -> None:
    for request in requests.open_requests(session, pair):
        if request.state is RequestState.WAITING:
            raise PeopleError(
                told("You already wait for a GPU in this project: request %(n)s.", n=request.id),
                fix=told("Cancel that one first: ./bancada queue cancel %(n)s", n=request.id),
            )
        raise PeopleError(
            told("You already have a GPU in this project."),
            fix=told("Start, or stop what runs there first."),
        )


def _no_request(request_id: int) -> NotFound:
    return NotFound(
        told("There is no request %(n)s that waits.", n=request_id),
        fix=told("See which there are: ./bancada queue list"),
    )
