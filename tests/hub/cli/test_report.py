"""What a terminal shows of steps."""

import io

import pytest

from bancada_hub.cli.report import Report


@pytest.fixture
def out():
    return io.StringIO()


def test_a_step_that_is_done_shows_its_outcome_and_seconds(out):
    with Report(out).step("Database") as line:
        line.outcome = "made"
    assert out.getvalue().startswith("  ✓ Database")
    assert "made" in out.getvalue()
    assert out.getvalue().endswith(" s\n")


def test_a_step_without_work_is_marked_as_such(out):
    with Report(out).step("Database") as line:
        line.unneeded("up to date")
    assert out.getvalue().startswith("  · Database")


def test_a_step_that_fails_shows_what_it_was_doing(out):
    def fail() -> None:
        with Report(out).step("Base system") as line:
            line.say("unpacking", 0.4)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert out.getvalue().startswith("  ✗ Base system")
    assert "40% unpacking" in out.getvalue()
