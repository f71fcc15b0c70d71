"""A town on each of the databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.domain import Town, make_town


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    made = make_town(tmp_path / "data")
    yield made
    made.store.engine.dispose()
