"""Signing a person out everywhere: what they have open at the hub, and with it at the console and in their servers.

Who changes an account only writes down that its sessions are over. The hub ends them when it next meets that person,
be it with a session, a token or a new sign-in, and on its clock for those it does not meet.
"""

import asyncio
from typing import Any

from jupyterhub import orm

from bancada_hub.store import people
from bancada_hub.store.database import Store

TOKEN_STATE = "token_id"  # noqa: S105 - the name of a number
"""Where a spawner's state has the number of its server's own token."""


def end_sessions(user: Any) -> None:  # noqa: ANN401 - JupyterHub's
    """End every session of a user of the hub, and every token but those with which their servers speak.

    Servers run on: what must end is what a browser or a program outside has. A token is known as a server's by its
    number, never by what its owner called it.

    Args:
        user: JupyterHub's user; to be called in the hub's own thread.
    """
    database = user.db
    kept = {own_token(database, spawner) for spawner in user.spawners.values()}
    kept |= {(row.state or {}).get(TOKEN_STATE) for row in user.orm_user.orm_spawners.values()}
    user.orm_user.cookie_id = orm.new_token()
    for kind in (orm.APIToken, orm.OAuthCode):
        for opened in database.query(kind).filter_by(user_id=user.orm_user.id).all():
            if kind is orm.OAuthCode or opened.id not in kept:
                database.delete(opened)
    database.commit()


def own_token(database: Any, spawner: Any) -> int | None:  # noqa: ANN401 - JupyterHub's
    """Return the number of the token that a spawner gave to its server; None when it does not know it."""
    found = orm.APIToken.find(database, spawner.api_token) if spawner.api_token else None
    return int(found.id) if found else None


async def sign_out(store: Store, user: Any, person: people.Person) -> None:  # noqa: ANN401 - JupyterHub's
    """Do at the hub what an account's record asks for, and note that it is done.

    Args:
        store: The database.
        user: JupyterHub's user; None for somebody whom the hub has never seen.
        person: The account, for which a sign-out is due.
    """
    if user is not None:
        end_sessions(user)

    def note() -> None:
        with store.write() as session:
            people.note_signed_out(session, person.id, person.signed_out_at or person.created_at)

    await asyncio.to_thread(note)
