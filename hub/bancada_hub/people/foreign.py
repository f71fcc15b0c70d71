"""Addresses of the hub that name somebody or something: to whom it is not theirs, it looks as if it were not there.

JupyterHub answers 403 on some of them and 404 on others, and on one tells a server that is there from one that is not.
"""

from http import HTTPStatus
from typing import Any

from jupyterhub.apihandlers import default_handlers
from jupyterhub.apihandlers.auth import OAuthAuthorizeHandler
from jupyterhub.handlers.base import Template404
from jupyterhub.user import User
from tornado.web import HTTPError

NAMING = ("users", "groups", "services", "shares", "share-codes")
"""What the hub's REST has addresses of, each by name."""

_REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN)


class OpenServerHandler(OAuthAuthorizeHandler):
    """Where a running server sends a browser that it does not know yet.

    To everybody but its people a server that runs looks like one that is not there: the hub would refuse the first
    (403) and not know the second (400).
    """

    def send_error(self, status_code: int = 500, **kwargs: Any) -> None:  # noqa: ANN401 - tornado's signature
        """Say that nothing is here, whatever it was."""
        if _person(self) and status_code in _REFUSED:
            status_code, kwargs = HTTPStatus.NOT_FOUND, _nothing()
        super().send_error(status_code, **kwargs)


class Foreign:
    """Mixed into a handler of the hub's REST: what a person may not do to what is not theirs is not there."""

    path_args: list[str]

    def send_error(self, status_code: int = 500, **kwargs: Any) -> None:  # noqa: ANN401 - tornado's signature
        """Answer 404 in one form, where the hub answers 403 or names what was asked for."""
        asking = _person(self)
        hidden = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
        if asking and status_code in hidden and self.path_args[:1] != [asking]:
            status_code, kwargs = HTTPStatus.NOT_FOUND, _nothing()
        super().send_error(status_code, **kwargs)  # type: ignore[misc]  # the hub's handler comes after this one


def foreign_handlers() -> list[tuple[str, type]]:
    """Return handlers that take the places of the hub's own."""
    named = [
        (pattern, type(f"Foreign{handler.__name__}", (Foreign, handler), {}))
        for pattern, handler in default_handlers
        if pattern.removeprefix("/api/").partition("/")[0] in NAMING and "(" in pattern
    ]
    # Nobody is an admin of the hub: its page is for none.
    return [("/admin", Template404), ("/api/oauth2/authorize", OpenServerHandler), *named]


def _person(handler: Any) -> str:  # noqa: ANN401 - one of JupyterHub's
    """Return the name of the person who is signed in; empty for nobody, for a service, and before it is known."""
    known = getattr(handler, "_jupyterhub_user", None)
    return str(known.name) if isinstance(known, User) else ""


def _nothing() -> dict[str, Any]:
    error = HTTPError(HTTPStatus.NOT_FOUND, "No access to resources or resources not found")
    return {"exc_info": (HTTPError, error, None)}
