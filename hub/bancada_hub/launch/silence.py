"""Since when the container engine does not answer: kept in a file, which the pages read.

The hub's clock writes it at its first look in vain and takes it away at the first that is answered, so that a hub that
starts meanwhile tells the same moment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bancada_hub.errors import EngineError, Told, told
from bancada_hub.launch.calls import check_answers
from bancada_hub.places import Places


def silent_since(places: Places) -> datetime | None:
    """Return since when the engine does not answer; None while it does, or where there is none."""
    try:
        return datetime.fromisoformat(_file(places).read_text().strip())
    except (OSError, ValueError):
        return None


@contextmanager
def noted_silence(places: Places, engine_host: str) -> Iterator[None]:
    """Note whether the engine answers, before and during the block.

    Args:
        places: The site's.
        engine_host: The engine's address; empty where there is none.

    Raises:
        EngineError: It does not; the block was not run, or was cut off by that.
    """
    begun = datetime.now(UTC)
    try:
        if engine_host:
            check_answers(engine_host)
        yield
    except EngineError:
        _begin(places, begun)
        raise
    else:
        _file(places).unlink(missing_ok=True)


def in_words(since: datetime) -> Told:
    """Return the sentence that refuses a start."""
    return told(
        "The container engine has not answered since %(time)s, so nothing starts. What is running goes on.",
        time=clock(since),
    )


def clock(moment: datetime) -> str:
    """Return a moment as a page without scripts tells it: with the day, when that is not today."""
    return moment.strftime("%H:%M UTC" if moment.date() == datetime.now(UTC).date() else "%Y-%m-%d %H:%M UTC")


def _begin(places: Places, since: datetime) -> None:
    if silent_since(places) is not None:
        return
    file = _file(places)
    fresh = file.with_suffix(".new")
    fresh.write_text(since.isoformat(timespec="seconds") + "\n")
    fresh.replace(file)


def _file(places: Places) -> Path:
    return places.run / "engine-silent-since"
