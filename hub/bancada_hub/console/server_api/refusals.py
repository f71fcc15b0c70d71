"""What the server API says no to; each becomes {status, message, fix}.

BancadaError
├── NoServerTokenError   not a server's own token
├── NotInProjectError    its person left the project, or the account is off
└── BadContractError     a server of a release that this site does not speak with, or a body of another shape
"""

from bancada_hub.errors import BancadaError, Reader, told


class NoServerTokenError(BancadaError):
    """Not a server's own token."""

    reader = Reader.RESEARCHER
    status = 401

    def __init__(self) -> None:
        super().__init__(
            told("This address takes the token of a running server, and no other."),
            fix=told("Stop the project and start it again."),
        )


class NotInProjectError(BancadaError):
    """Its person left the project."""

    reader = Reader.RESEARCHER
    status = 403

    def __init__(self) -> None:
        super().__init__(
            told("You are not in this project any more, or your account is switched off."),
            fix=told("Save your work and ask the project's lead."),
        )


class BadContractError(BancadaError):
    """Another contract, or a body of another shape."""

    reader = Reader.RESEARCHER

    def __init__(self, what: str, *, status: int, fix: str = "") -> None:
        super().__init__(what, fix=fix)
        self.status = status
