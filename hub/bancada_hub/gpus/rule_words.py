"""What holds for a time, as people read it."""

import time
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from bancada_hub.errors import Told, joined, told
from bancada_hub.gpus.shares import hours_text
from bancada_hub.gpus.terms import machine_zone, timed
from bancada_hub.store import gpu_rules
from bancada_hub.store.gpu_rules import NewRule, StoredRule

DAY_NAMES = (told("Mon"), told("Tue"), told("Wed"), told("Thu"), told("Fri"), told("Sat"), told("Sun"))


@dataclass(frozen=True)
class RuleView:
    """A rule that is set.

    Args:
        id: Its number.
        text: What it says.
        note: What it is for, in the words of whoever set it.
        holds: Whether it holds now.
    """

    id: int
    text: Told
    note: str
    holds: bool


def rules_of(session: Session, *, project_id: int | None = None, lab_id: int | None = None) -> tuple[RuleView, ...]:
    """Return what is set for a time of one project or one lab."""
    whose, now_s = (project_id, lab_id), time.time()
    found = [each for each in gpu_rules.rules(session) if (each.new.project_id, each.new.lab_id) == whose]
    return tuple(_view(each, now_s) for each in found)


def _view(rule: StoredRule, now_s: float) -> RuleView:
    holds = timed(rule.new).holds(now_s, machine_zone())
    return RuleView(rule.id, joined(*_what(rule.new), *_when(rule.new)), rule.new.note, holds)


def _what(rule: NewRule) -> list[Told]:
    return [
        sentence
        for value, sentence in (
            (rule.max_gpus, told("At most %(n)s GPUs.", n=rule.max_gpus)),
            (rule.max_person_gpus, told("At most %(n)s GPUs for each person.", n=rule.max_person_gpus)),
            (rule.guarantee, told("%(n)s GPUs guaranteed.", n=rule.guarantee)),
            (rule.weight, told("Weight %(n)s.", n=f"{rule.weight or 0:g}")),
        )
        if value is not None
    ]


def _when(rule: NewRule) -> list[Told]:
    found = []
    if rule.from_s is not None:
        found.append(told("From %(time)s.", time=_moment(rule.from_s)))
    if rule.until_s is not None:
        found.append(told("Until %(time)s.", time=_moment(rule.until_s)))
    if rule.days:
        found.append(told("Days: %(days)s.", days=joined(*(DAY_NAMES[int(day)] for day in rule.days))))
    if rule.from_minute is not None:
        found.append(told("Hours: %(hours)s.", hours=hours_text(rule.from_minute, rule.minutes)))
    return found


def _moment(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, machine_zone()):%Y-%m-%d %H:%M}"
