"""One thing that was looked at on this machine, and what came of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """The outcome of one check, for `bancada up` and `bancada doctor` alike.

    Args:
        name: A fixed word for `--json` and tests, such as "engine-overlay".
        ok: Whether Bancada can run with what was found.
        detail: What was found, in one sentence, with numbers where there are any.
        fix: What to do when it is not ok: a command, or an action in words.
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""
