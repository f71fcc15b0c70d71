"""A whole site, made and driven by the commands that a person types."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.engine import TestEngine

ROOT = Path(__file__).resolve().parents[2]
UP_S = 900.0
COMMAND_S = 120.0
STEP = re.compile(r"^  (?P<mark>[✓·✗]) (?P<title>.{28}) ?(?P<outcome>.*?) +(?P<seconds>\d+\.\d) s$")


@dataclass(frozen=True)
class Step:
    """One line of `up`: `mark` is ✓ for done, · for skipped, ✗ for failed."""

    mark: str
    title: str
    outcome: str
    seconds: float


@dataclass(frozen=True)
class Said:
    """How a command went.

    Args:
        status: Its exit status.
        text: What it wrote, both streams in their order.
        seconds: How long it took.
    """

    status: int
    text: str
    seconds: float

    @property
    def steps(self) -> list[Step]:
        """The steps that it reported."""
        found = (STEP.match(line) for line in self.text.splitlines())
        return [Step(m["mark"], m["title"].strip(), m["outcome"], float(m["seconds"])) for m in found if m]

    def step(self, title: str) -> Step:
        """Return the step of this title."""
        return next(step for step in self.steps if step.title == title)


@dataclass
class Site:
    """One site on the tests' engine; every command runs in the engine's namespace.

    Args:
        engine: The engine that it uses.
        data: Its data directory.
        port: Its port.
    """

    engine: TestEngine
    data: Path
    port: int
    passwords: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where its pages are, inside the namespace."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def settings(self) -> Path:
        """Its bancada.toml."""
        return self.data / "bancada.toml"

    def start(self, noun: str, *arguments: str, **variables: str) -> "Running":
        """Start a command, as a person would in a terminal, and return while it runs."""
        return Running(self, noun, arguments, variables)

    def run(self, noun: str, *arguments: str, **variables: str) -> Said:
        """Run a command to its end."""
        return self.start(noun, *arguments, **variables).end(UP_S if noun == "up" else COMMAND_S)

    def up(self, *arguments: str, **variables: str) -> Said:
        """Run `up --yes`, and keep the password that it shows when it makes the first account."""
        said = self.run("up", "--yes", "--port", str(self.port), *arguments, **variables)
        if shown := re.search(r"Name (\S+), password (\S+)", said.text):
            self.passwords[shown[1]] = shown[2]
        return said

    def add_person(self, name: str, *arguments: str) -> None:
        """Add an account, and keep its password."""
        said = self.run("user", "add", name, "--keep-password", *arguments)
        assert said.status == 0, said.text
        shown = re.search(r"Password, shown this once: (\S+)", said.text)
        assert shown, said.text
        self.passwords[name] = shown[1]

    def logs(self) -> str:
        """Return the ends of all logs, for the message of a test that failed."""
        texts = (f"--- {path.name}\n{tail(path)}" for path in sorted((self.data / "site" / "logs").glob("*.log")))
        return "\n".join(texts)


class Running:
    """A command that runs, in a session of its own as a terminal's would be."""

    def __init__(self, site: Site, noun: str, arguments: tuple[str, ...], variables: dict[str, str]) -> None:
        kept = {name: value for name, value in site.engine.environment().items() if not name.startswith("BANCADA_")}
        kept.pop("PYTHONPATH", None)
        self._begun = time.monotonic()
        self._output = site.engine.root / f"command-{os.getpid()}.txt"
        with site.engine.enter(), self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [str(ROOT / "bancada"), noun, *arguments, "--data", str(site.data)],
                env={**kept, "PYTHONUNBUFFERED": "1", **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        """What it has written so far."""
        return self._output.read_text(errors="replace")

    def wait_for(self, condition: Callable[[str], bool], within_s: float = UP_S) -> None:
        """Return when what it wrote fulfils a condition."""
        deadline = time.monotonic() + within_s
        while not condition(self.text):
            assert self._process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.1)

    def interrupt(self) -> None:
        """Press Ctrl-C: the terminal sends it to every process in the foreground."""
        os.killpg(self._process.pid, signal.SIGINT)

    def end(self, within_s: float) -> Said:
        """Wait for its end, and return how it went."""
        try:
            status = self._process.wait(timeout=within_s)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            raise AssertionError(f"The command did not end within {within_s:.0f} s:\n{self.text}") from None
        return Said(status, self.text, time.monotonic() - self._begun)


def tail(path: Path, lines: int = 25) -> str:
    """Return the last lines of a text file."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
