"""How far the site's preparation is, computed from its steps, and said in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bancada_hub.store.steps import DONE, FAILED, RUNNING, SILENCE, Step
from bancada_hub.ui.language import Words


class Progress(StrEnum):
    """What the preparation does."""

    READY = "ready"
    WORKING = "working"
    FAILED = "failed"
    STALLED = "stalled"
    NOT_BEGUN = "not-begun"


@dataclass(frozen=True)
class Preparation:
    """The preparation at one instant.

    Args:
        progress: What it does.
        steps: All steps, in order.
        current: The step that runs, failed or comes next; None when all are done or none is planned.
        left_s: A rough guess of the seconds left; None when the current step has outlasted its guess.
        done_ratio: How much of the expected time is done, from 0 to 1.
    """

    progress: Progress
    steps: tuple[Step, ...]
    current: Step | None
    left_s: float | None
    done_ratio: float


def summarise(steps: Sequence[Step], *, published: bool, now: datetime) -> Preparation:
    """Return how far the preparation is.

    Args:
        steps: All steps, in order.
        published: Whether an image can be started.
        now: The present instant.
    """
    rows = tuple(steps)
    current = next((step for step in rows if step.state != DONE), None)
    if current is None:
        return Preparation(Progress.READY if rows or published else Progress.NOT_BEGUN, rows, None, None, 1.0)
    done_s = sum(step.expected_s for step in rows if step.state == DONE)
    total_s = sum(step.expected_s for step in rows) or 1.0
    running_s = elapsed_s(current, now)
    later_s = sum(step.expected_s for step in rows if step.position > current.position)
    overdue = running_s > current.expected_s
    left_s = None if overdue else current.expected_s - running_s + later_s
    ratio = (done_s + min(running_s, current.expected_s)) / total_s
    return Preparation(_progress(rows, current, now), rows, current, left_s, round(ratio, 3))


def elapsed_s(step: Step, now: datetime) -> float:
    """Return for how many seconds a step has run, or ran; 0 for one that has not begun."""
    if step.started_at is None:
        return 0.0
    return max(0.0, ((step.ended_at or now) - step.started_at).total_seconds())


def describe(preparation: Preparation, words: Words) -> str:
    """Return the preparation in one sentence, for everybody: it names no path, address or error."""
    current = preparation.current
    if current is None:
        if preparation.progress is Progress.READY:
            return words.gettext("This site is ready.")
        return words.gettext("This site has not been prepared yet: run ./bancada up on the machine.")
    step = {
        "position": current.position,
        "total": len(preparation.steps),
        "title": _inside_a_sentence(words.gettext(current.title)),
    }
    if preparation.progress is Progress.FAILED:
        return words.gettext("Preparing this site failed at step %(position)d of %(total)d: %(title)s.", **step)
    if preparation.progress is Progress.STALLED:
        return words.gettext(
            "Preparing this site stopped at step %(position)d of %(total)d: run ./bancada up to go on.", **step
        )
    if preparation.left_s is None:
        return words.gettext(
            "Preparing this site: step %(position)d of %(total)d, %(title)s, which takes longer than usual.", **step
        )
    left = words.duration(_rounded(preparation.left_s))
    return words.gettext(
        "Preparing this site: step %(position)d of %(total)d, %(title)s, about %(left)s left.", left=left, **step
    )


def _progress(rows: tuple[Step, ...], current: Step, now: datetime) -> Progress:
    if current.state == FAILED:
        return Progress.FAILED
    if current.state == RUNNING:
        return Progress.STALLED if current.stalled(now) else Progress.WORKING
    # Between two steps nobody beats: the last step's end tells whether somebody still works.
    ended = [step.ended_at for step in rows if step.ended_at is not None]
    return Progress.STALLED if ended and now - max(ended) > SILENCE else Progress.WORKING


def _rounded(seconds: float) -> float:
    return max(5.0, round(seconds / 5) * 5.0)


def _inside_a_sentence(title: str) -> str:
    first, _, _ = title.partition(" ")
    return title[:1].lower() + title[1:] if first[1:].islower() else title  # not a name such as JupyterLab
