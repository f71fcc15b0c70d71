"""Names of containers and volumes, and the labels by which a site finds its own.

Names are made of numbers, never of what people call themselves, so they need no escaping and no two servers can meet
in one: each number ends at a hyphen. The longest possible name has 60 characters.
"""

import re
import secrets
from dataclasses import dataclass

SITE_LABEL = "bancada.site"
ROLE_LABEL = "bancada.role"
PERSON_LABEL = "bancada.person"
PROJECT_LABEL = "bancada.project"
START_LABEL = "bancada.start"
PLAN_LABEL = "bancada.plan"
SERVER_ROLE = "server"

_SITE = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True)
class ServerKey:
    """One server: at most one container carries a key at any time."""

    site_id: str
    uid: int
    project_id: int

    def __post_init__(self) -> None:
        if not _SITE.fullmatch(self.site_id) or self.uid < 0 or self.project_id < 0:
            msg = f"not a server's numbers: {self}"
            raise ValueError(msg)

    @property
    def labels(self) -> dict[str, str]:
        """The labels that every container and volume of this server carries."""
        return {
            SITE_LABEL: self.site_id,
            ROLE_LABEL: SERVER_ROLE,
            PERSON_LABEL: str(self.uid),
            PROJECT_LABEL: str(self.project_id),
        }


def container_name(key: ServerKey) -> str:
    """Return the name of a server's container; the engine refuses a second one, which is a lock of its own."""
    return f"bancada-{key.site_id}-{key.uid}-{key.project_id}"


def new_start_id() -> str:
    """Return a name for one start of one server: 12 hex digits, never used before."""
    return secrets.token_hex(6)


def volume_name(key: ServerKey, start_id: str) -> str:
    """Return the name of the overlay volume of one start: an engine keeps a volume's options, so none is used twice."""
    return f"{container_name(key)}-{start_id}"


def network_name(site_id: str) -> str:
    """Return the name of a site's bridge."""
    return f"bancada-{site_id}"
