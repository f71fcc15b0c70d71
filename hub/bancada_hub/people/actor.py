"""Who asks, as the database knows them now."""

from bancada_hub.errors import NotFound, told
from bancada_hub.roles import Actor
from bancada_hub.store import people
from bancada_hub.store.database import Store

__all__ = ["Actor", "actor_named"]


def actor_named(store: Store, name: str, origin: str) -> Actor:
    """Return a signed-in person as an actor.

    Args:
        store: The database.
        name: Their account name.
        origin: The network address they come from.

    Raises:
        NotFound: There is no such account, or it is disabled.
    """
    with store.read() as session:
        person = people.find_person(session, name)
    if person is None or person.disabled:
        msg = told("There is no account “%(name)s”.", name=name)
        raise NotFound(msg, fix=told("Ask an administrator."))
    return Actor(person.id, person.name, person.admin, origin)
