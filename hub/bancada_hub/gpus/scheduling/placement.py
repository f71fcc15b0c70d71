"""Which of the free cards: those that lie close together, the smallest that will do, the fullest parent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bancada_hub.gpus.scheduling.values import Card, Lease, Mark, Shape


@dataclass
class Board:
    """The cards and who sits on them, while a decision is made.

    Args:
        cards: By UUID.
        taken: How many leases hold a card.
        filled: How much of a parent its leased instances are.
        known: The cards that suit, by what is needed, and by project if some are kept for one.
        kept: Whether some cards are kept for some projects.
        free: The cards that take another lease.
    """

    cards: Mapping[str, Card]
    taken: dict[str, int] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)
    known: dict[object, list[Card]] = field(default_factory=dict)
    kept: bool = False
    free: dict[str, Card] = field(default_factory=dict)

    @classmethod
    def of(cls, cards: Iterable[Card], leases: Iterable[Lease]) -> "Board":
        """Return the board of an inventory and its leases."""
        by_uuid = {card.uuid: card for card in cards}
        free = {uuid: card for uuid, card in by_uuid.items() if card.usable}
        board = cls(by_uuid, free=free, kept=any(card.mark is Mark.RESERVED for card in by_uuid.values()))
        for lease in leases:
            board.take(lease.cards)
        return board

    def take(self, uuids: Iterable[str]) -> None:
        """Seat a lease."""
        for uuid in uuids:
            self.taken[uuid] = self.taken.get(uuid, 0) + 1
            card = self.cards.get(uuid)
            if card is None:
                continue
            if self.taken[uuid] >= card.tenants:
                self.free.pop(uuid, None)
            if card.parent:
                self.filled[card.parent] = self.filled.get(card.parent, 0) + card.milli

    def suiting(self, shape: Shape, project_id: int) -> list[Card]:
        """Return the cards in service that a project may be given for a shape, taken or not."""
        key = (shape.need, project_id if self.kept else None)
        found = self.known.get(key)
        if found is None:
            found = [card for card in self.cards.values() if may_hold(card, project_id) and shape.suits(card)]
            self.known[key] = found
        return found

    def place(self, shape: Shape, project_id: int, avoid: frozenset[str] = frozenset()) -> tuple[Card, ...] | None:
        """Return the free cards that a request would get now, or None when there are too few.

        Args:
            shape: What for.
            project_id: The project.
            avoid: Cards to leave alone.
        """
        free = [card for card in self.suiting(shape, project_id) if card.uuid in self.free and card.uuid not in avoid]
        if len(free) < shape.cards:
            return None
        free.sort(key=self._preference)
        if shape.cards == 1:
            return (free[0],)
        return close_together(free, shape.cards)

    def _preference(self, card: Card) -> tuple[bool, int, int, int, str]:
        """Order cards: kept for the project first, then the smallest, the fullest parent, the fullest shared card."""
        full, seated = self.filled.get(card.parent, 0) if card.parent else 0, self.taken.get(card.uuid, 0)
        return (card.mark is not Mark.RESERVED, card.memory_bytes, -full, -seated, card.uuid)


def may_hold(card: Card, project_id: int) -> bool:
    """Return whether a project may be given a card, as far as its state and an administrator's mark go."""
    return card.usable and (card.mark is Mark.NORMAL or project_id in card.reserved_for)


def close_together(free: list[Card], count: int) -> tuple[Card, ...]:
    """Return so many of some cards, in order of preference: on one switch if possible, else on one NUMA node.

    Of several switches, the one whose cards are the smallest, then the one with the fewest to spare.
    """
    for near in ("switch", "numa"):
        groups: dict[object, list[Card]] = {}
        for card in free:
            if getattr(card, near) is not None:
                groups.setdefault(getattr(card, near), []).append(card)
        enough = [group for group in groups.values() if len(group) >= count]
        if enough:
            best = min(enough, key=lambda group: (_size(group[:count]), len(group), group[0].uuid))
            return tuple(best[:count])
    return tuple(free[:count])


def _size(cards: list[Card]) -> int:
    return sum(card.memory_bytes for card in cards)
