"""What is refused before it waits: what no card could ever serve, what no limit allows, what is no number at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bancada_hub.errors import LaunchRefused, Told, told
from bancada_hub.gpus.scheduling.limits import Limit, most_milli
from bancada_hub.gpus.scheduling.placement import may_hold
from bancada_hub.gpus.scheduling.reasons import length, plain
from bancada_hub.gpus.scheduling.rules import Purpose, Rules, Terms, terms_at
from bancada_hub.gpus.scheduling.values import CARD_MILLI, Card, OnGrant, Pair, Shape

GIB = 2**30
MOST_CARDS = 1024
MOST_GIB = 4096
MOST_HOURS = 24 * 365
T = TypeVar("T", Purpose, OnGrant)
FIELDS = frozenset({"cards", "memory_gib", "profile", "shared", "card", "purpose", "hours", "least_hours", "on_grant"})


@dataclass(frozen=True)
class Site:
    """What a request is held against.

    Args:
        cards: The inventory.
        rules: The rules.
        waiting: How many requests the person has in the queue.
        most_waiting: How many a person may have there.
    """

    cards: Sequence[Card]
    rules: Rules
    waiting: int = 0
    most_waiting: int = 50


def read_shape(asked: Mapping[str, object], pair: Pair, site: Site, now_s: float) -> tuple[Shape, OnGrant]:
    """Return what somebody asks for, if it can ever be served.

    Args:
        asked: The request's body as it came: cards, memory_gib, profile, shared, card, purpose, hours, least_hours,
            on_grant; all but `purpose` may be left out.
        pair: The project and the person.
        site: What it is held against.
        now_s: The instant.

    Raises:
        LaunchRefused: It cannot; the message says why and what can be asked for instead.
    """
    unknown = sorted(set(asked) - FIELDS)
    if unknown:
        _refuse(
            "unknown-field", told("There is no “%(field)s” in a request.", field=unknown[0][:40]), told("Leave it out.")
        )
    purpose = _choice(asked, "purpose", Purpose)
    longest_s = site.rules.longest_s[purpose]
    hours = _number(asked, "hours", longest_s / 3600, MOST_HOURS)
    least = _number(asked, "least_hours", min(1.0, hours), MOST_HOURS)
    shape = Shape(
        cards=_count(asked),
        memory_bytes=int(_number(asked, "memory_gib", 0, MOST_GIB, zero=True) * GIB),
        profile=_text(asked, "profile"),
        shared=_switch(asked, "shared"),
        card=_card(_text(asked, "card"), site.cards),
        purpose=purpose,
        wanted_s=hours * 3600,
        least_s=least * 3600,
    )
    _check_times(shape, longest_s)
    _check_kind(shape)
    _check_cards(shape, pair, site)
    _check_limits(shape, pair, site, terms_at(site.rules, now_s))
    on_grant = _choice(asked, "on_grant", OnGrant) if "on_grant" in asked else OnGrant.HOLD
    return shape, on_grant


def _refuse(reason: str, what: Told, fix: Told) -> None:
    raise LaunchRefused(what, fix=fix, reason=reason)


def _number(asked: Mapping[str, object], name: str, default: float, most: float, *, zero: bool = False) -> float:
    value = asked.get(name, default)
    # bool is a kind of int in Python; infinity and what is not a number fail the comparison
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not (0 <= value <= most) or (value == 0 and not zero):  # type: ignore[operator]  # good is a number
        what = told("“%(name)s” has to be a number between 0 and %(most)s.", name=name, most=plain(most))
        _refuse("bad-number", what, told("Correct it, or leave it out."))
    return float(value)  # type: ignore[arg-type]  # a number, as was just made sure


def _count(asked: Mapping[str, object]) -> int:
    value = asked.get("cards", 1)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_CARDS:
        what = told("The number of cards has to be a whole number from 1 to %(most)s.", most=MOST_CARDS)
        _refuse("bad-number", what, told("Correct it, or leave it out for one card."))
    return int(value)  # type: ignore[call-overload,no-any-return]  # a whole number, as was just made sure


def _text(asked: Mapping[str, object], name: str) -> str:
    value = asked.get(name, "")
    if not isinstance(value, str) or len(value) > 80:
        _refuse("bad-text", told("“%(name)s” has to be a short text.", name=name), told("Correct it, or leave it out."))
    return str(value)


def _switch(asked: Mapping[str, object], name: str) -> bool:
    value = asked.get(name, False)
    if not isinstance(value, bool):
        _refuse(
            "bad-switch", told("“%(name)s” has to be true or false.", name=name), told("Correct it, or leave it out.")
        )
    return bool(value)


def _choice(asked: Mapping[str, object], name: str, kind: type[T]) -> T:
    value = asked.get(name)
    for each in kind:
        if each.value == value:
            return each
    words = ", ".join(each.value for each in kind)
    _refuse("bad-choice", told("“%(name)s” has to be one of: %(words)s.", name=name, words=words), told("Choose one."))
    raise AssertionError


def _card(asked: str, cards: Sequence[Card]) -> str:
    """Return the UUID that somebody means: the driver takes a beginning of one too, if it is the only one."""
    if not asked:
        return ""
    found = [card.uuid for card in cards if card.uuid == asked] or [c.uuid for c in cards if c.uuid.startswith(asked)]
    if len(found) > 1:
        what = told("“%(card)s” is the beginning of several cards' names.", card=asked)
        _refuse("unknown-card", what, told("Give more of it."))
    if not found:
        what = told("There is no card “%(card)s”: it may have been taken out, or split anew.", card=asked)
        _refuse("unknown-card", what, told("See what there is: ./bancada gpu list"))
    return found[0]


def _check_times(shape: Shape, longest_s: float) -> None:
    if shape.least_s > min(shape.wanted_s, longest_s):
        values = {"least": length(shape.least_s), "most": length(min(shape.wanted_s, longest_s))}
        what = told("You need %(least)s at least, and would get %(most)s at most.", **values)
        _refuse("too-long", what, told("Ask for less time, and save your work at the end of it."))


def _check_kind(shape: Shape) -> None:
    if shape.profile and shape.shared:
        what = told("A part of a card is not shared.")
        _refuse("bad-kind", what, told("Ask for a part of a card, or for a place on a shared one."))
    if shape.cards > 1 and (shape.profile or shape.shared):
        what = told("A program uses one part of a card, or one shared card, and no more.")
        _refuse("bad-kind", what, told("Ask for one, or for whole cards."))
    if shape.cards > 1 and shape.card:
        _refuse("bad-kind", told("One card was named, and several asked for."), told("Name none, or ask for one."))


def _check_cards(shape: Shape, pair: Pair, site: Site) -> None:
    there = [card for card in site.cards if shape.suits(card) and _could_hold(card, pair[0])]
    if len(there) >= shape.cards:
        return
    if shape.profile:
        sizes = ", ".join(sorted({card.profile for card in site.cards if card.profile})) or "-"
        what = told("There is no part of a card of the size %(size)s.", size=shape.profile)
        _refuse("no-such-card", what, told("There are: %(sizes)s.", sizes=sizes))
    kind = [card for card in site.cards if not card.profile and (card.tenants > 1) == shape.shared]
    kind = [card for card in kind if _could_hold(card, pair[0])]
    if not kind:
        what = told("There is no card of this kind that the project may use.")
        _refuse("no-such-card", what, told("See what there is: ./bancada gpu list"))
    largest = max(card.memory_bytes for card in kind)
    if shape.memory_bytes > largest:
        what = told("No card has %(gib)s GiB of memory.", gib=plain(shape.memory_bytes / GIB))
        _refuse("no-such-card", what, told("The largest has %(gib)s GiB.", gib=plain(largest / GIB)))
    what = told("Cards asked for: %(n)s; of that size can be had: %(there)s.", n=shape.cards, there=len(there))
    _refuse("too-many", what, told("Ask for %(there)s or fewer.", there=max(1, len(there))))


def _could_hold(card: Card, project_id: int) -> bool:
    """Return whether a project could be given a card once it is well: a sick one may come back."""
    return may_hold(card, project_id) or (
        not card.usable and (not card.reserved_for or project_id in card.reserved_for)
    )


def _check_limits(shape: Shape, pair: Pair, site: Site, terms: Terms) -> None:
    suiting = [card for card in site.cards if shape.suits(card)]
    rule, lab = terms.project(pair[0]), terms.lab_of(pair[0])
    milli = most_milli(shape, suiting)
    limits = (
        (
            Limit.PERSON,
            site.rules.person_limit,
            told("A person may hold %(most)s at once.", most=site.rules.person_limit),
        ),
        (
            Limit.PERSON_IN_PROJECT,
            rule.person_limit,
            told("A person may hold %(most)s at once here.", most=rule.person_limit),
        ),
        (Limit.PROJECT, rule.limit, told("The project may hold %(most)s at once.", most=rule.limit)),
        (Limit.LAB, lab.ceiling, told("The lab's ceiling is %(most)s.", most=lab.ceiling)),
    )
    for limit, most, fix in limits:
        if most is not None and milli > most * CARD_MILLI:
            what = told("Cards asked for: %(n)s; that is more than is allowed.", n=plain(milli / CARD_MILLI))
            _refuse(f"above-limit-{limit.value.replace(' ', '-')}", what, fix)
    if site.waiting >= site.most_waiting:
        what = told("Your requests in the queue: %(n)s; more are not taken.", n=site.waiting)
        _refuse("too-many-waiting", what, told("Cancel some of them first."))
