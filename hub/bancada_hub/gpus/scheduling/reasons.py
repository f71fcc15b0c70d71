"""Why: the sentences that go with decisions, and with waiting. Times and amounts stand in them as people say them."""

from datetime import datetime, tzinfo

from bancada_hub.errors import Told, told
from bancada_hub.gpus.scheduling.limits import Limit, Reached
from bancada_hub.gpus.scheduling.rules import HOUR_S
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Shape


def cards(milli: int) -> str:
    """Return an amount of cards: 2, or 0.25."""
    return plain(milli / CARD_MILLI)


def plain(number: float) -> str:
    """Return a number without zeros behind it: 2, or 0.25."""
    return f"{number:g}"


def length(seconds: float) -> str:
    """Return a length of time in hours and minutes, the same in every language: 2 h, 1 h 30 min, 20 min."""
    hours, minutes = divmod(round(seconds / 60), 60)
    parts = [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0 or hours == 0)
    return " ".join(parts)


def moment(at_s: float, zone: tzinfo) -> str:
    """Return an instant in the site's time zone, the same in every language."""
    return datetime.fromtimestamp(at_s, zone).strftime("%Y-%m-%d %H:%M")


def barred() -> Told:
    """Return why a request leaves the queue when its person may not use the project any more."""
    return told("Its owner is no longer in the project, or cannot sign in, or the project is closed.")


def unclaimed(claim_s: float) -> Told:
    """Return why a grant passes on."""
    return told("Nobody started a server within %(time)s of the grant; the cards go to the next.", time=length(claim_s))


def time_over() -> Told:
    """Return why a lease ends."""
    return told("The time it was given for is over.")


def clock_jumped(grace_s: float) -> Told:
    """Return why a lease's times are set anew."""
    return told("The clock jumped, or nobody looked for a while: %(time)s are left.", time=length(grace_s))


def guaranteed(count: int) -> Told:
    """Return why a project is served before the others."""
    return told("It is within the project's guarantee (%(n)s).", n=count)


def aged(patience_s: float) -> Told:
    """Return why somebody is served before those with less use."""
    days = round(patience_s / (24 * HOUR_S), 1)
    return told("Its owner has not had a turn in the project for more than %(days)s days.", days=plain(days))


def fair() -> Told:
    """Return why somebody is served in their turn."""
    return told("It was next: least use against its share, then the oldest.")


def filled() -> Told:
    """Return why somebody is let in ahead of others."""
    return told("It was let in ahead of its turn: it makes nobody wait longer who is before it.")


def limit_reached(found: Reached) -> Told:
    """Return why a request waits at a limit."""
    values = {"most": found.most, "held": cards(found.held_milli)}
    match found.limit:
        case Limit.PERSON:
            return told("You hold %(held)s of the %(most)s that a person may hold at once.", **values)
        case Limit.PERSON_IN_PROJECT:
            return told("You hold %(held)s of the %(most)s that a person may hold at once in this project.", **values)
        case Limit.PROJECT:
            return told("The project holds %(held)s of the %(most)s that it may hold at once.", **values)
    return told("The lab's projects hold %(held)s of the %(most)s that they may hold at once.", **values)


def limit_change(found: Reached) -> Told:
    """Return what would end the wait at a limit."""
    match found.limit:
        case Limit.PERSON | Limit.PERSON_IN_PROJECT:
            return told("Stop one of your servers with cards, or ask for fewer.")
        case Limit.PROJECT:
            return told("Somebody in the project stops a server with cards, or its lab's lead raises the limit.")
    return told("Somebody in the lab stops a server with cards, or an administrator raises the lab's ceiling.")


def nothing_suits(shape: Shape) -> Told:
    """Return why a request cannot be served however long it waits, as things are."""
    if shape.profile:
        return told("No card in service has a part of the size %(profile)s.", profile=shape.profile)
    if shape.card:
        return told("The card %(card)s is not in service.", card=shape.card)
    gib = plain(shape.memory_bytes / 2**30)
    return told("Too few cards with %(gib)s GiB or more are in service; needed: %(n)s.", n=shape.cards, gib=gib)


def nothing_suits_change() -> Told:
    """Return what would help where nothing suits."""
    return told("Ask for less, or ask an administrator when the card is back.")


def taken(shape: Shape, free: int) -> Told:
    """Return why a request waits for cards."""
    return told("Of the cards that would do, %(free)s are free; needed: %(n)s.", free=free, n=shape.cards)


def taken_change(ends_s: float | None, zone: tzinfo) -> Told:
    """Return when cards come free at the latest."""
    if ends_s is None:
        return told("Somebody who holds such a card stops their server.")
    return told(
        "Somebody stops a server earlier; enough leases end by %(when)s at the latest.", when=moment(ends_s, zone)
    )


def kept(lendable_s: float, least_s: float) -> Told:
    """Return why a free card is not given: it is promised."""
    if lendable_s < HOUR_S / 60:
        return told("The free cards are kept for those before you and for guarantees that are due.")
    values = {"lendable": length(lendable_s), "least": length(least_s)}
    return told("The free cards can be lent for %(lendable)s; you need them for %(least)s at least.", **values)


def kept_change(lendable_s: float) -> Told:
    """Return what would get somebody a card that is promised."""
    if lendable_s < HOUR_S / 60:
        return told("Those before you are served, or withdraw.")
    return told("Ask for %(lendable)s or less to have a card at once.", lendable=length(lendable_s))


def behind(ahead: int) -> Told:
    """Return that others come first."""
    return told("Requests before yours: %(n)s.", n=ahead)


def behind_change() -> Told:
    """Return what moves a request up."""
    return told("Those before you are served, withdraw, or their projects use more of their share.")
