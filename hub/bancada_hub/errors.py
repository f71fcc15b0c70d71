"""Every error that the control plane raises on purpose.

    BancadaError
    ├── SettingsError      bancada.toml or a command-line value is wrong
    ├── HostError          the machine lacks something, or refuses it
    │   └── EngineError    the container engine is missing, silent, or cannot do what is needed
    ├── StoreError         the database cannot be reached, or has the wrong version
    ├── PeopleError        an account, a project or a membership is not as asked
    └── LaunchRefused      a server may not, or cannot, start as asked

`bancada_images.errors` has the errors of specs and builds.
"""

from bancada.errors import BancadaError, Reader

__all__ = [
    "BancadaError",
    "EngineError",
    "HostError",
    "LaunchRefused",
    "PeopleError",
    "Reader",
    "SettingsError",
    "StoreError",
]


class SettingsError(BancadaError):
    """A setting, in bancada.toml or on the command line, is wrong."""


class HostError(BancadaError):
    """This machine lacks something that Bancada needs, or refuses it."""


class EngineError(HostError):
    """The container engine is missing, does not answer, or cannot do what is needed."""


class StoreError(BancadaError):
    """The database cannot be reached, or is not at this release's version."""


class PeopleError(BancadaError):
    """An account, a project or a membership is not as asked."""


class LaunchRefused(BancadaError):  # noqa: N818 - a refusal by policy is an outcome, not a fault
    """A server may not, or cannot, start as asked.

    Args:
        what: Why, for the person who asked.
        fix: What that person can do.
        reason: A fixed word for metrics and tests, such as "not-a-member".
    """

    reader = Reader.RESEARCHER

    def __init__(self, what: str, *, fix: str = "", reason: str) -> None:
        super().__init__(what, fix=fix)
        self.reason = reason
