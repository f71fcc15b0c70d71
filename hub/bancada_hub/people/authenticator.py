"""Signing in: JupyterHub's view of our people and of who is in which project."""

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

from jupyterhub.auth import Authenticator

from bancada_hub.people.accounts import verify
from bancada_hub.store import people, projects
from bancada_hub.store.database import Store


class LocalAccounts(Authenticator):
    """Accounts of Bancada's own database. Groups are our projects: the hub mirrors them and decides nothing.

    `store` is set once, by the hub's configuration, before the hub starts.
    """

    store: ClassVar[Store]

    async def authenticate(self, handler: Any, data: Mapping[str, str]) -> dict[str, Any] | None:  # noqa: ANN401
        """Return the person's name and groups when name and password fit."""
        name = data.get("username", "").strip().lower()
        person = await asyncio.to_thread(verify, self.store, name, data.get("password", ""))
        return await asyncio.to_thread(self._model, person.name) if person else None

    async def refresh_user(self, user: Any, handler: Any = None, **_: Any) -> dict[str, Any] | bool:  # noqa: ANN401
        """Return a person's groups as they are now; False ends the session of a disabled person."""
        return await asyncio.to_thread(self._model, user.name) or False

    def _model(self, name: str) -> dict[str, Any] | None:
        with self.store.read() as session:
            person = people.find_person(session, name)
            if person is None or person.disabled:
                return None
            groups = [project.slug for project in projects.projects_of(session, person.id)]
        # Nobody is an admin of the hub: Bancada's admins act through the console, which asks the database.
        return {"name": person.name, "groups": groups, "admin": False}
