"""Signing in: JupyterHub's view of our people and of who is in which project."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from jupyterhub.auth import Authenticator
from jupyterhub.handlers.login import LoginHandler
from traitlets import Float

from bancada_hub.people.foreign import foreign_handlers
from bancada_hub.people.sessions import sign_out
from bancada_hub.people.sign_in import sign_in
from bancada_hub.store import people, projects
from bancada_hub.store.database import Store


class SignInHandler(LoginHandler):
    """The hub's sign-in page, which can also say for how long an account is locked."""

    locked_until: datetime | None = None

    def _render(self, *arguments: Any, **values: Any) -> Any:  # noqa: ANN401 - JupyterHub's signature
        left = self.locked_until - datetime.now(UTC) if self.locked_until else None
        return super()._render(*arguments, locked_s=max(left.total_seconds(), 1.0) if left else 0.0, **values)


class LocalAccounts(Authenticator):
    """Accounts of Bancada's own database. Groups are our projects: the hub mirrors them and decides nothing.

    `store` is set once, by the hub's configuration, before the hub starts.
    """

    store: ClassVar[Store]

    auth_refresh_age = Float(
        0.001,
        help="Seconds for which an answer of refresh_user holds. JupyterHub's own is a whole number of seconds, in "
        "which a session that has just been ended would go on, and be taken for good by who asks the hub.",
    )

    def get_handlers(self, app: Any) -> list[tuple[str, type]]:  # noqa: ANN401 - JupyterHub's signature
        """Return the handlers that take the places of JupyterHub's own."""
        return [("/login", SignInHandler), *foreign_handlers()]

    def normalize_username(self, username: str) -> str:
        """Return the name as it is: a name is a key, and lower-casing would make two names one."""
        return username

    async def authenticate(self, handler: Any, data: Mapping[str, str]) -> dict[str, Any] | None:  # noqa: ANN401
        """Return the person's name and groups when name and password fit; a disabled account looks like a wrong one."""
        name, password = data.get("username", ""), data.get("password", "")
        origin = handler.request.remote_ip or ""
        outcome = await asyncio.to_thread(sign_in, self.store, name, password, origin)
        if outcome.locked_until:
            handler.locked_until = outcome.locked_until
        if outcome.person is None:
            return None
        if outcome.person.sign_out_due:  # what is left of earlier sessions goes before the new one begins
            await sign_out(self.store, handler.find_user(name), outcome.person)
        return (await asyncio.to_thread(self._look, name))[1]

    async def refresh_user(self, user: Any, handler: Any = None, **_: Any) -> dict[str, Any] | bool:  # noqa: ANN401
        """Return a person's groups as they are now; False ends the session of somebody disabled or signed out."""
        person, model = await asyncio.to_thread(self._look, user.name)
        if person is not None and person.sign_out_due:
            await sign_out(self.store, user, person)
            if handler is not None and not _still_good(handler):
                return False
        return model or False

    def _look(self, name: str) -> tuple[people.Person | None, dict[str, Any] | None]:
        """Return a person, and what the hub is to know of them; nothing for somebody who may not be here."""
        with self.store.read() as session:
            person = people.find_person(session, name)
            if person is None or person.disabled:
                return person, None
            groups = [project.slug for project in projects.projects_of(session, person.id)]
        # Nobody is an admin of the hub: Bancada's admins act through the console, which asks the database.
        return person, {"name": person.name, "groups": groups, "admin": False}


def _still_good(handler: Any) -> bool:  # noqa: ANN401 - JupyterHub's
    """Say whether what a request came with outlived that its person was signed out: a server's own token does."""
    token = handler.get_token()  # as the handler found it before
    return token is not None and token in handler.db
