"""What a change of shares would do, in sentences: who gains, who waits longer, what goes on all the same."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from bancada_hub.errors import Told, told
from bancada_hub.gpus.scheduling.preview import Change, Outlook, Preview
from bancada_hub.store import projects

MINUTE_S, HOUR_S = 60, 3600


@dataclass(frozen=True)
class Outcome:
    """A preview in sentences.

    Args:
        gains: A sentence for each project that would be served more or sooner.
        waits: A sentence for each that would be served less or later.
        remarks: What else there is to know; also that nothing would change.
        problems: Why it cannot be set; then there is nothing else.
    """

    gains: tuple[Told, ...] = ()
    waits: tuple[Told, ...] = ()
    remarks: tuple[Told, ...] = ()
    problems: tuple[Told, ...] = ()


def in_sentences(session: Session, preview: Preview) -> Outcome:
    """Return a preview as people read it; projects by their short names."""
    if preview.problems:
        return Outcome(problems=preview.problems)
    numbers = {change.project_id for change in (*preview.gains, *preview.waits)}
    names = {number: projects.get_project(session, number).slug for number in numbers}
    remarks = []
    if not numbers:
        remarks.append(told("Of those who wait now, nobody would be served sooner or later."))
    if preview.over:
        text = told("Leases that go on although they would not be given again: %(n)s.", n=len(preview.over))
        remarks += [text, told("Nobody's work is ended.")]
    gains = tuple(_sentence(change, names) for change in preview.gains)
    return Outcome(gains, tuple(_sentence(change, names) for change in preview.waits), tuple(remarks))


def _sentence(change: Change, names: Mapping[int, str]) -> Told:
    words = {"project": names[change.project_id], "before": _outlook(change.before), "after": _outlook(change.after)}
    return told("%(project)s: now %(before)s; then %(after)s.", **words)


def _outlook(outlook: Outlook) -> Told:
    if outlook.place is None:
        return told("all who wait are served at once")
    where = told("the first is at place %(place)s", place=outlook.place)
    if outlook.wait_s is not None:
        where = told("%(where)s and waits about %(time)s", where=where, time=_length(outlook.wait_s))
    if not outlook.granted:
        return where
    return told("%(n)s served at once, of the others %(where)s", n=outlook.granted, where=where)


def _length(seconds: float) -> Told:
    if seconds < 1.5 * HOUR_S:
        return told("%(n)d min", n=max(1, round(seconds / MINUTE_S)))
    return told("%(n)d h", n=round(seconds / HOUR_S))
