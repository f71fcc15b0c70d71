"""Cards that were seen on this machine, and what administrators decided about each."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from bancada_hub.store.card_models import CardRow


@dataclass(frozen=True)
class SeenCard:
    """What is kept of a card for the time when it does not answer.

    Args:
        uuid: Its name, or a MIG instance's.
        source: Where it was read: `nvml` or `simulated`.
        whole: Whether it is a whole card; MIG instances come and go by an administrator's hand.
        model: What it is called.
        memory_bytes: Its memory.
    """

    uuid: str
    source: str
    whole: bool = True
    model: str = ""
    memory_bytes: int = 0


@dataclass(frozen=True)
class Mark:
    """What an administrator decided about a card.

    Args:
        out: Nobody new gets it.
        tenants: How many may hold it at once.
        project_id: The project that it is kept for.
        lab_id: The lab whose projects it is kept for.
    """

    out: bool = False
    tenants: int = 1
    project_id: int | None = None
    lab_id: int | None = None


@dataclass(frozen=True)
class Signed:
    """Who marked a card, why, and when (seconds since 1970; None for one that nobody marked)."""

    reason: str = ""
    by: str = ""
    at_s: float | None = None


@dataclass(frozen=True)
class StoredCard:
    """A card as it is kept.

    Args:
        seen: The card.
        mark: What was decided about it.
        signed: Who decided that.
    """

    seen: SeenCard
    mark: Mark = Mark()
    signed: Signed = Signed()


def stored_cards(session: Session) -> dict[str, StoredCard]:
    """Return all cards that were seen or marked, by UUID."""
    return {row.uuid: _stored(row) for row in session.scalars(select(CardRow).order_by(CardRow.uuid))}


def keep_seen(session: Session, cards: Iterable[SeenCard], now_s: float) -> bool:
    """Keep cards that were not seen before; returns whether there were any."""
    known = set(session.scalars(select(CardRow.uuid)))
    new = [card for card in cards if card.uuid not in known]
    for card in new:
        session.add(_row(card, now_s))
    session.flush()
    return bool(new)


def set_mark(session: Session, card: SeenCard, mark: Mark, signed: Signed) -> None:
    """Keep what was decided about a card.

    Args:
        session: A writing session.
        card: The card.
        mark: What was decided.
        signed: By whom, and when.
    """
    row = session.get(CardRow, card.uuid)
    if row is None:
        row = _row(card, signed.at_s or 0.0)
        session.add(row)
    row.out, row.tenants, row.project_id, row.lab_id = mark.out, mark.tenants, mark.project_id, mark.lab_id
    row.reason, row.marked_by, row.marked_s = signed.reason, signed.by, signed.at_s
    session.flush()


def forget_card(session: Session, uuid: str) -> bool:
    """Forget a card that left the machine for good; returns whether it was known."""
    row = session.get(CardRow, uuid)
    if row is None:
        return False
    session.delete(row)
    session.flush()
    return True


def _row(card: SeenCard, now_s: float) -> CardRow:
    return CardRow(
        uuid=card.uuid,
        source=card.source,
        whole=card.whole,
        model=card.model,
        memory_bytes=card.memory_bytes,
        first_s=now_s,
        out=False,
        tenants=1,
        reason="",
        marked_by="",
    )


def _stored(row: CardRow) -> StoredCard:
    return StoredCard(
        SeenCard(row.uuid, row.source, row.whole, row.model, row.memory_bytes),
        Mark(row.out, row.tenants, row.project_id, row.lab_id),
        Signed(row.reason, row.marked_by, row.marked_s),
    )
