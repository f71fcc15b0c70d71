"""What people write of shares and of times, read and checked: numbers of cards, weights, dates, days and hours."""

import math
import re
from collections.abc import Iterable
from datetime import datetime, tzinfo

from bancada_hub.errors import PeopleError, Told, told
from bancada_hub.store.gpu_rules import LabShare, NewRule, ProjectShare

MOST_CARDS = 4096
LEAST_WEIGHT, MOST_WEIGHT = 0.01, 1000.0
SOONEST_S, LATEST_S = 300.0, 30 * 86_400.0
LONGEST_NOTE = 200
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTES_A_DAY = 1440
_HOURS = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})", re.ASCII)


def check_share(share: LabShare | ProjectShare) -> None:
    """Refuse a share that cannot be.

    Raises:
        PeopleError: A number of cards, a weight or a time is not possible.
    """
    _check_cards([share.max_gpus])
    _check_weight(share.gpu_weight)
    if isinstance(share, ProjectShare):
        _check_cards([share.max_person_gpus, share.gpu_guarantee])
        if not SOONEST_S <= share.gpu_within_s <= LATEST_S:
            hours = f"{share.gpu_within_s / 3600:g}"
            _refuse(told("A guarantee is kept within 5 min to 30 days; %(hours)s h is not possible.", hours=hours))
        if share.gpu_memory_bytes < 0:
            _refuse(told("The memory of a card cannot be negative."))
        if share.max_gpus is not None and share.gpu_guarantee > share.max_gpus:
            words = {"n": share.gpu_guarantee, "most": share.max_gpus}
            _refuse(told("%(n)s guaranteed GPUs are more than the limit of %(most)s.", **words))


def check_rule(rule: NewRule) -> None:
    """Refuse a rule that cannot be, or that changes nothing.

    Raises:
        PeopleError: The message says what.
    """
    changes = (rule.guarantee, rule.max_gpus, rule.max_person_gpus, rule.weight)
    if all(each is None for each in changes):
        _refuse(told("This rule changes nothing."), told("Give a guarantee, a limit or a weight."))
    _check_cards([rule.guarantee, rule.max_gpus, rule.max_person_gpus])
    if rule.weight is not None:
        _check_weight(rule.weight)
    if rule.lab_id is not None and (rule.guarantee is not None or rule.max_person_gpus is not None):
        _refuse(told("A lab has a ceiling and a weight, and no guarantee."), told("Guarantee it to a project."))
    if rule.from_s is not None and rule.until_s is not None and rule.until_s <= rule.from_s:
        _refuse(told("This rule ends before it begins."))
    if all(each is None for each in (rule.from_s, rule.until_s, rule.days, rule.from_minute)):
        _refuse(
            told("This rule has neither dates nor hours, so it would hold for ever."), told("Change the share itself.")
        )
    if len(rule.note) > LONGEST_NOTE or not rule.note.isprintable():
        _refuse(told("A note is one line of at most %(most)s characters.", most=LONGEST_NOTE))


def read_moment(text: str, zone: tzinfo) -> float | None:
    """Return an instant from a date, or a date and a time, in the site's time zone; None for an empty text.

    Raises:
        PeopleError: It is neither.
    """
    if not text.strip():
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        found = found if found.tzinfo else found.replace(tzinfo=zone)
        return found.timestamp()
    except (ValueError, OverflowError, OSError):
        example = told("Write it as 2026-12-04 or 2026-12-04T18:00.")
        raise PeopleError(told("“%(text)s” is not a date.", text=text[:40]), fix=example) from None


def read_days(text: str) -> str | None:
    """Return days of the week as digits, Monday is 0, from `mon-fri`, `sat,sun`, `fri-mon`; None for an empty text.

    Raises:
        PeopleError: Something in it is no day.
    """
    found: set[int] = set()
    for part in filter(None, (part.strip().lower() for part in text.split(","))):
        first, dash, last = (each.strip() for each in part.partition("-"))
        if first not in DAYS or (dash and last not in DAYS):
            known = told("Use: %(days)s; such as mon-fri or sat,sun.", days=", ".join(DAYS))
            raise PeopleError(told("“%(text)s” names no days of the week.", text=text[:40]), fix=known)
        begin, end = DAYS.index(first), DAYS.index(last or first)
        found |= {day % 7 for day in range(begin, end + 1 if end >= begin else end + 8)}
    return "".join(map(str, sorted(found))) or None


def read_hours(text: str) -> tuple[int, int] | None:
    """Return the minute of the day at which hours begin, and how long they last, from `22:00-08:00`; None if empty.

    Raises:
        PeopleError: It is not such a text.
    """
    if not text.strip():
        return None
    found = _HOURS.fullmatch(text.strip())
    numbers = [int(each) for each in found.groups()] if found else []
    if not numbers or numbers[0] > 23 or numbers[2] > 24 or max(numbers[1], numbers[3]) > 59 or numbers[2:] > [24, 0]:
        raise PeopleError(told("“%(text)s” names no hours.", text=text[:40]), fix=told("Write them as 22:00-08:00."))
    begin, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
    return begin, (end - begin - 1) % MINUTES_A_DAY + 1


def days_text(days: str | None) -> str:
    """Return days as `read_days` reads them, each by itself; empty for all."""
    return ",".join(DAYS[int(day)] for day in days or "")


def hours_text(from_minute: int | None, minutes: int | None) -> str:
    """Return hours as `read_hours` reads them; empty for the whole day."""
    if from_minute is None or minutes is None:
        return ""
    end = (from_minute + minutes) % MINUTES_A_DAY or MINUTES_A_DAY
    return f"{from_minute // 60:02}:{from_minute % 60:02}-{end // 60:02}:{end % 60:02}"


def _check_cards(counts: Iterable[int | None]) -> None:
    for count in counts:
        if count is not None and (isinstance(count, bool) or not 0 <= count <= MOST_CARDS):
            words = {"given": count, "most": MOST_CARDS}
            _refuse(told("A number of GPUs is from 0 to %(most)s; %(given)s is not possible.", **words))


def _check_weight(weight: float) -> None:
    if not math.isfinite(weight) or not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        words = {"least": LEAST_WEIGHT, "most": f"{MOST_WEIGHT:g}", "given": f"{weight:g}"}
        _refuse(told("A weight is from %(least)s to %(most)s; %(given)s is not possible.", **words))


def _refuse(what: Told, fix: Told | None = None) -> None:
    raise PeopleError(what, fix=fix or told("Nothing was changed. Correct it, then try again."))
