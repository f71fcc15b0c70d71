"""A console that sees the cards of the stand-in driver, for as long as a test needs it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import delete

from bancada_hub.store.card_models import CardRow, IncidentRow
from tests.hub.console.running import RunningSite
from tests.standin.nvml.driver import StandInDriver, build, scenario


@contextmanager
def seeing(site: RunningSite, folder: Path, *cards: dict[str, object]) -> Iterator[StandInDriver]:
    """Let the site's console see these cards; without any again afterwards, and none remembered."""
    driver = StandInDriver(build(folder), folder / "scenario.json")
    driver.write(scenario(*cards))
    site.end("console")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in driver.environment.items():
            patched.setenv(name, value)
        site.start("console")
        try:
            yield driver
        finally:
            site.end("console")
    forget(site)
    site.start("console")


def forget(site: RunningSite) -> None:
    """Forget all cards and incidents."""
    with site.store.write() as session:
        for table in (IncidentRow, CardRow):
            session.execute(delete(table))
