"""Reset: away at once, never under a running server, and nothing left of it."""

import time
from pathlib import Path

import pytest

from bancada_hub.errors import HostError
from bancada_hub.places import Places
from bancada_hub.projects.folders import prepare_overlay
from bancada_hub.projects.overlay_reset import reset_overlay, sweep
from bancada_hub.site import Site
from bancada_hub.store import people, projects
from bancada_hub.store.database import Store, migrate, open_store
from bancada_hub.store.overlays import OverlayKey, hold, release

BASE = "a1a1a1a1a1a1"
UID = 2_000_000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    places = Places(tmp_path)
    places.site.mkdir()
    migrate(Site(), places)
    return open_store(Site(), places)


@pytest.fixture
def key(store: Store) -> OverlayKey:
    with store.write() as session:
        ana = people.add_person(session, "ana", None, admin=False, first=people.FirstNumbers(UID, UID))
        return OverlayKey(projects.projects_of(session, ana.id)[0].id, ana.id, BASE)


def filled(store: Store, key: OverlayKey) -> Path:
    folder = store.places.overlay(key.project_id, UID, BASE)
    prepare_overlay(store.places.data, folder, UID)
    (folder / "upper" / "lib").mkdir()
    (folder / "upper" / "lib" / "six.py").write_text("changed")
    return folder


def wait_until_empty(folder: Path) -> None:
    deadline = time.monotonic() + 10
    while list(folder.iterdir()):
        assert time.monotonic() < deadline, f"still there: {list(folder.iterdir())}"
        time.sleep(0.01)


def test_a_reset_leaves_nothing_of_what_was_changed(store: Store, key: OverlayKey) -> None:
    folder = filled(store, key)
    assert reset_overlay(store, store.places, key, UID)
    assert not folder.exists()
    wait_until_empty(folder.parent)
    assert not reset_overlay(store, store.places, key, UID)


def test_a_held_overlay_is_not_reset(store: Store, key: OverlayKey) -> None:
    folder = filled(store, key)
    with store.write() as session:
        assert hold(session, key, "start-1")
    with pytest.raises(HostError, match="in use"):
        reset_overlay(store, store.places, key, UID)
    assert (folder / "upper" / "lib" / "six.py").read_text() == "changed"
    with store.write() as session:
        release(session, "start-1")
    assert reset_overlay(store, store.places, key, UID)


def test_links_in_an_overlay_lead_the_deletion_nowhere(store: Store, key: OverlayKey, tmp_path: Path) -> None:
    folder = filled(store, key)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").write_text("kept")
    (folder / "upper" / "way-out").symlink_to(precious)
    reset_overlay(store, store.places, key, UID)
    wait_until_empty(folder.parent)
    assert (precious / "data").read_text() == "kept"


def test_a_deletion_that_was_cut_short_is_finished(store: Store, key: OverlayKey) -> None:
    folder = filled(store, key)
    folder.rename(folder.with_name(".aside-0123456789ab"))
    assert sweep(store.places) == 1
    assert list(folder.parent.iterdir()) == []
