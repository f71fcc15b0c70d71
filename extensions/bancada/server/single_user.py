"""Importing JupyterHub's single-user server without the hub that comes with it: half of the time went there.

JupyterHub is one package for both sides. Its single-user server takes a few pure functions out of modules that also
import the hub's database (SQLAlchemy) and its pages; and Jupyter's event log imports a grammar of internationalised
addresses that is built at import and that no event uses. While the import runs, stand-ins take the places of those
modules; after it, whoever imports one of them gets the real one. With another JupyterHub that needs more of them while
it is imported, the import is repeated without stand-ins.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

HUBS_OWN = ("jupyterhub.handlers", "jupyterhub.handlers.pages", "jupyterhub.orm", "sqlalchemy", "sqlalchemy.exc")
"""What a hub needs and a server does not."""

NEVER_CHECKED = ("isoduration", "rfc3987_syntax")
"""Optional parts of jsonschema: without one it does not check the format that it is for."""

log = logging.getLogger("bancada.start")


class _StandIn(ModuleType):
    """A module in which each name is a class of its own, so that `except` and `isinstance` find nothing of its kind."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any name of any module
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Exception,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


def single_user_server() -> Any:  # noqa: ANN401 - JupyterHub's, untyped
    """Import and return the class of JupyterHub's single-user server."""
    before = set(sys.modules)
    try:
        with _stand_ins():
            from jupyterhub.singleuser.extension import JupyterHubSingleUser
    except Exception:  # whatever it is, a slow start is better than none
        log.warning("The short import of JupyterHub failed; importing all of it.", exc_info=True)
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == "jupyterhub":
                del sys.modules[name]
        from jupyterhub.singleuser.extension import JupyterHubSingleUser
    return JupyterHubSingleUser


@contextmanager
def _stand_ins() -> Iterator[None]:
    places: dict[str, Any] = {name: _StandIn(name) for name in HUBS_OWN}
    for module in places.values():
        module.__path__ = []
    places |= dict.fromkeys(NEVER_CHECKED)  # None: the import fails, which is expected of an optional part
    taken = {name: module for name, module in places.items() if name not in sys.modules}
    sys.modules.update(taken)
    try:
        yield
    finally:
        for name, module in taken.items():
            if sys.modules.get(name, ...) is module:
                del sys.modules[name]
