"""Names of containers and volumes, and the labels by which a site finds its own.

Names are made of numbers, never of what people call themselves, so they need no escaping and no two servers can meet
in one: each number ends at a hyphen. The longest possible name has 60 characters. Only a host name is there to be read.
"""

import hashlib
import json
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

LONGEST_LABEL = 63
"""Characters between two dots of a host name (RFC 1035)."""

_SITE = re.compile(r"[0-9a-f]{8}")
_WORDS = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_DIGEST = 20
_READABLE = 18


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


def bridge_name(site_id: str) -> str:
    """Return the name of the bridge's interface, which may have 15 characters."""
    return f"bnc-{site_id}"


def host_name(user: str, project: str) -> str:
    """Return the host name of a server, as its shell prompt shows it: a DNS label, another for every pair.

    `main--ana` where both are plain words, with or without single hyphens. Else what can be read of them, three
    hyphens, and the pair's hash: a label has 63 characters of a-z, 0-9 and hyphen, and people's names have more.

    Args:
        user: An account's name, of any characters.
        project: A project's slug.
    """
    plain = f"{project}--{user}"
    if _WORDS.fullmatch(user) and _WORDS.fullmatch(project) and len(plain) <= LONGEST_LABEL and plain[2:4] != "--":
        return plain  # a hyphen at 3 and 4 is kept for encoded names (RFC 5891)
    digest = hashlib.sha256(json.dumps([user, project]).encode()).hexdigest()[:_DIGEST]
    readable = f"{_readable(project)}-{_readable(user)}".strip("-")
    hashed = f"{readable}---{digest}"
    return hashed if readable and hashed[2:4] != "--" else f"server---{digest}"


def _readable(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_READABLE].strip("-")
