"""The cards and the rules that decisions are made about, as they are now; and the past that forecasts go by."""

from sqlalchemy.orm import Session

from bancada_hub.gpus.broker import Lab
from bancada_hub.gpus.cards import Decided, Kept, scheduling_cards
from bancada_hub.gpus.inventory import Cause, Inventory, with_expected
from bancada_hub.gpus.scheduling.forecast import KEPT, History, Key
from bancada_hub.gpus.scheduling.rules import Purpose
from bancada_hub.gpus.simulated import machine_inventory
from bancada_hub.gpus.terms import read_rules
from bancada_hub.store import cards, incidents, leases, projects
from bancada_hub.store.database import Store

OF_ONE_SERVER = frozenset({Cause.SERVER, Cause.OCCUPIED})
"""What is wrong between a card and who holds it; the card itself is well."""


def known_inventory(store: Store, simulated: int) -> Inventory:
    """Return the machine's cards, those that were there before and do not answer now included.

    Args:
        store: The database.
        simulated: How many cards the site simulates; 0 for the machine's own.
    """
    with store.read() as session:
        known = [each.seen for each in cards.stored_cards(session).values()]
    expected = [each.uuid for each in known if each.whole and each.source == "nvml"]
    return with_expected(machine_inventory(simulated), expected)


def read_kept(session: Session) -> Kept:
    """Return what the site knows of its cards: what administrators decided, and what has failed."""
    stored = cards.stored_cards(session)
    failed = {each.card for each in incidents.open_incidents(session) if each.cause not in OF_ONE_SERVER}
    return Kept(
        {uuid: _decided(session, card.mark) for uuid, card in stored.items()},
        frozenset(failed),
        {uuid: card.seen.memory_bytes for uuid, card in stored.items()},
    )


def _decided(session: Session, mark: cards.Mark) -> Decided:
    own = frozenset({mark.project_id} if mark.project_id is not None else ())
    of_lab = projects.all_projects(session, lab_id=mark.lab_id) if mark.lab_id is not None else ()
    return Decided(
        mark.out,
        mark.tenants,
        reserved=mark.project_id is not None or mark.lab_id is not None,
        projects=own | {each.id for each in of_lab},
    )


def read_lab(session: Session, inventory: Inventory) -> Lab:
    """Return the cards and the rules."""
    return Lab(scheduling_cards(inventory, read_kept(session)), read_rules(session))


def read_history(session: Session) -> History:
    """Return how long leases lasted, by project and purpose."""
    lengths: dict[Key, tuple[float, ...]] = {}
    for project_id, shape, length_s in leases.ended_lengths(session):
        key = (project_id, Purpose(str(shape["purpose"])))
        lengths[key] = (*lengths.get(key, ()), length_s)[-KEPT:]
    return History(lengths)
