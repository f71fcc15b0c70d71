"""The cards and the rules that decisions are made about, as they are now; and the past that forecasts go by."""

from sqlalchemy.orm import Session

from bancada_hub.gpus.broker import Lab
from bancada_hub.gpus.cards import scheduling_cards
from bancada_hub.gpus.inventory import Inventory
from bancada_hub.gpus.scheduling.forecast import KEPT, History, Key
from bancada_hub.gpus.scheduling.rules import Purpose
from bancada_hub.gpus.terms import read_rules
from bancada_hub.store import leases


def read_lab(session: Session, inventory: Inventory) -> Lab:
    """Return the cards and the rules."""
    return Lab(scheduling_cards(inventory), read_rules(session))


def read_history(session: Session) -> History:
    """Return how long leases lasted, by project and purpose."""
    lengths: dict[Key, tuple[float, ...]] = {}
    for project_id, shape, length_s in leases.ended_lengths(session):
        key = (project_id, Purpose(str(shape["purpose"])))
        lengths[key] = (*lengths.get(key, ()), length_s)[-KEPT:]
    return History(lengths)
