"""Making a tree again that changed on disk: never under servers that run on it."""

from pathlib import Path

import pytest

from bancada.errors import BancadaError
from bancada_hub.catalog.prepare import require_nobody_runs
from bancada_hub.places import Places
from bancada_hub.site import Site
from bancada_hub.store import people, projects, servers
from bancada_hub.store.database import migrate, open_store


def test_a_changed_tree_is_not_made_again_under_servers_that_run(tmp_path: Path) -> None:
    site, places = Site(), Places(tmp_path)
    places.site.mkdir()
    migrate(site, places)
    store = open_store(site, places)
    require_nobody_runs(store, places.lowers / "a1")
    with store.write() as session:
        main = projects.add_project(session, "main", "Main", first_gid=2_000_000)
        for number in range(7):
            first = people.FirstNumbers(2_000_000, 2_000_000)
            person = people.add_person(session, f"p{number}", None, admin=False, first=first)
            servers.claim(session, servers.NewServer(f"{number:012x}", person.id, main.id, "work", "m", 1, 1.0))
    with pytest.raises(
        BancadaError, match=r"servers run that may use it: p0 in main, .*p4 in main and 2 more\."
    ) as caught:
        require_nobody_runs(store, places.lowers / "a1")
    assert "./bancada up again" in caught.value.fix
