"""The hub of the console's tests: the site's own configuration, with servers that only say hello.

A server of the project “broken” fails to start; one of “slow” waits until the file `go` is in the data directory.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from jupyterhub.spawner import SimpleLocalProcessSpawner

from bancada_hub.jupyterhub_config import setup
from bancada_hub.people.authenticator import LocalAccounts

WHY = os.environ["BANCADA_TEST_FAILURE"]


class DiskFullError(Exception):
    jupyterhub_message = WHY

    def __str__(self) -> str:
        return WHY


class HelloServer(SimpleLocalProcessSpawner):
    async def start(self) -> Any:
        if self.name == "broken" and self.user_options.get("kind") != "rescue":
            raise DiskFullError
        places = LocalAccounts.store.places
        while self.name == "slow" and not (places.data / "go").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        return await super().start()

    async def progress(self) -> AsyncIterator[dict[str, object]]:
        yield {"progress": 10, "message": "Laying out folders"}


setup(c)  # noqa: F821 - JupyterHub gives `c`
c.JupyterHub.spawner_class = HelloServer  # noqa: F821
c.Spawner.cmd = [sys.executable, str(Path(__file__).with_name("hello_server.py"))]  # noqa: F821
c.Spawner.args = []  # noqa: F821
c.SimpleLocalProcessSpawner.home_dir_template = str(LocalAccounts.store.places.data / "home-{username}")  # noqa: F821
