"""An engine that may be killed, for each module one: with the options for dockerd that it names in OPTIONS.

engine, engine_client, image    module    in place of those of all tests
"""

import contextlib
from collections.abc import Iterator

import docker
import pytest

from tests.engine import TestEngine
from tests.hub.launch.conftest import make_image
from tests.leftovers import ROOT


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[TestEngine]:
    name = request.module.__name__.rpartition("test_")[2]
    engine = TestEngine(ROOT / name.replace("_", "-"), options=getattr(request.module, "OPTIONS", ()))
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def engine_client(engine: TestEngine) -> Iterator[docker.DockerClient]:
    with contextlib.closing(engine.client()) as client:
        yield client


@pytest.fixture(scope="module")
def image(engine_client: docker.DockerClient) -> str:
    return make_image(engine_client)
