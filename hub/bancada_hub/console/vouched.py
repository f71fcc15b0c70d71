"""What the hub vouched for is kept for a minute, but never past the moment at which its person was signed out."""

from collections.abc import MutableMapping
from datetime import datetime
from typing import Any

from bancada_hub.store.people import Person


class Vouched:
    """Watches over what is kept of the hub's answers.

    Args:
        kept: The answers, by token.
    """

    def __init__(self, kept: MutableMapping[str, Any]) -> None:
        self._kept = kept
        self._seen: dict[int, datetime] = {}

    def outdated(self, person: Person) -> bool:
        """Say whether the hub has to be asked again, as the person was signed out everywhere since this was last asked.

        Args:
            person: Whoever asks, as the database has them now.
        """
        at = person.signed_out_at
        if at is None or self._seen.get(person.id) == at:
            return False
        self._seen[person.id] = at
        self._kept.clear()
        return True
