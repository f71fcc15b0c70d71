"""Asking for cards and giving a place up, for pages, REST and command line: who may, what is put on record."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from bancada_hub.errors import LaunchRefused, NotFound, PeopleError, told
from bancada_hub.gpus import broker
from bancada_hub.gpus.scheduling.door import Site, read_shape
from bancada_hub.gpus.scheduling.values import Shape
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


@dataclass(frozen=True)
class Asking:
    """What somebody asks for.

    Args:
        actor: Who asks; on the machine's command line it may be for somebody else.
        asker: Whose request it is.
        asked: What for, as it came in; see `door.read_shape`.
    """

    actor: Actor
    asker: Asker
    asked: Mapping[str, object]


Refused = PeopleError | LaunchRefused
"""The actor may not work in the project, or waits or holds cards there already: there is one server of theirs in a
project; or it can never be served. The message says which."""


def ask(
    store: Store, actor: Actor, asker: Asker, asked: Mapping[str, object], lab: broker.Lab, now_s: float
) -> StoredRequest:
    """Put somebody in the queue, and decide at once; returns the request as it is then, granted or waiting.

    Raises:
        Refused: It is not let in; that is on record.
    """
    (found,) = ask_together(broker.Broker(store), [Asking(actor, asker, asked)], lab, now_s)
    if isinstance(found, StoredRequest):
        return found
    raise found


def ask_together(
    queue: broker.Broker,
    askings: Iterable[Asking],
    lab: broker.Lab | Callable[[Session], broker.Lab],
    now_s: float,
) -> list[StoredRequest | Refused]:
    """Put people in the queue who ask at the same time, in one transaction, and decide once about all of them.

    A commit waits for the disk and a decision looks at all who wait; both cost the same for one request as for many.

    Args:
        queue: Decides.
        askings: What they ask for, the first first.
        lab: The cards and rules, or what reads them: in the transaction, so that no mark of a card comes between.
        now_s: The instant, in seconds since 1970.

    Returns:
        For each its request as it is after the decision, or why it was not let in.
    """
    with queue.turn() as turn:
        known = lab if isinstance(lab, broker.Lab) else lab(turn.session)
        let_in = [_let_in(turn.session, asking, known, now_s) for asking in askings]
        new = {each for each in let_in if isinstance(each, int)}
        if new:
            announce(turn.session, turn.decide(known, now_s), but=new)
        return [_as_decided(turn.session, each) if isinstance(each, int) else each for each in let_in]


def _let_in(session: Session, asking: Asking, lab: broker.Lab, now_s: float) -> int | Refused:
    """Add one request and its row in the audit, and return its number; a refused one leaves nothing but its row."""
    let_in: int | Refused
    try:
        let_in, shape = _add(session, asking, lab, now_s)
        result, detail = trace.DONE, {"request": let_in, "cards": shape.cards, "purpose": shape.purpose.value}
    except (PeopleError, LaunchRefused) as refused:
        let_in, result, detail = refused, trace.REFUSED, {"why": refused.what}
    trace.audit(session, trace.Entry(asking.actor, "gpu.ask", f"project:{asking.asker.project}", result, detail))
    return let_in


def _as_decided(session: Session, number: int) -> StoredRequest:
    found = requests.find_request(session, number)
    assert found is not None  # noqa: S101 - it was added in this transaction
    return found


def _add(session: Session, asking: Asking, lab: broker.Lab, now_s: float) -> tuple[int, Shape]:
    """Add a request; everything that can refuse it comes before the first write."""
    actor, asker, asked = asking.actor, asking.asker, asking.asked
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
    return broker.ask(session, pair, shape, on_grant, now_s), shape


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
