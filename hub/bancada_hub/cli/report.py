"""What a terminal shows of a command that takes a while: a line a step, with its seconds."""

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

TICK_S = 0.2


@dataclass
class StepLine:
    """The line of the step that runs now."""

    title: str
    detail: str = ""
    outcome: str = ""
    skipped: bool = False

    def say(self, text: str, done: float | None = None) -> None:
        """Show what the step is doing; `done` is the fraction that is done, 0 to 1."""
        self.detail = f"{done:.0%} {text}" if done is not None else text

    def unneeded(self, outcome: str) -> None:
        """Say that there was nothing to do, and why."""
        self.outcome, self.skipped = outcome, True


@dataclass
class Report:
    """Writes steps to a terminal, or as plain lines to a file.

    Args:
        out: Where to.
    """

    out: TextIO = field(default_factory=lambda: sys.stdout)

    @contextmanager
    def step(self, title: str) -> Iterator[StepLine]:
        """Show one step: its title and detail while it runs, then its outcome and seconds."""
        line, begun, over = StepLine(title), time.monotonic(), threading.Event()
        painter = threading.Thread(target=self._paint, args=(line, begun, over), daemon=True)
        if self.out.isatty():
            painter.start()
        mark = "✗"
        try:
            yield line
            mark = "·" if line.skipped else "✓"
        finally:
            over.set()
            if painter.is_alive():
                painter.join()
            outcome = line.outcome or line.detail
            self._write(f"  {mark} {title:<28} {outcome}".rstrip(), f"{time.monotonic() - begun:6.1f} s")

    def line(self, text: str = "") -> None:
        """Write a line of its own."""
        self.out.write(f"{text}\n")
        self.out.flush()

    def _paint(self, line: StepLine, begun: float, over: threading.Event) -> None:
        while not over.wait(TICK_S):
            width = shutil.get_terminal_size().columns
            text = f"  … {line.title:<28} {time.monotonic() - begun:4.0f} s  {line.detail}"
            self.out.write("\r\x1b[2K" + text[: width - 1])
            self.out.flush()
        self.out.write("\r\x1b[2K")

    def _write(self, text: str, seconds: str) -> None:
        width = max(shutil.get_terminal_size((100, 24)).columns, 60) if self.out.isatty() else 100
        self.line(f"{text[: width - len(seconds) - 1]:<{width - len(seconds) - 1}} {seconds}")
