import os
import subprocess

import pytest

from bancada_images.errors import BuildError
from bancada_images.layout import lay_out, read_layout, remove_layout, verify_layout

from .conftest import quiet
from .served import tar_of

GROUP = {"uid": 0, "gid": 1999999, "mtime": 1_700_000_000}


@pytest.fixture(scope="session")
def image(engine_client):
    """An image with everything that is easily lost on the way: owner, group, set-group-id, hard and symbolic links."""
    content = tar_of(
        ("opt/", {"type": b"5", "mode": 0o755}, b""),
        ("opt/env/", {"type": b"5", "mode": 0o2775, **GROUP}, b""),
        ("opt/env/lib/", {"type": b"5", "mode": 0o2775, **GROUP}, b""),
        ("opt/env/lib/a.py", {"mode": 0o664, **GROUP}, b"x = 1\n"),
        ("opt/env/lib/b.py", {"type": b"1", "linkname": "opt/env/lib/a.py", "mode": 0o664, **GROUP}, b""),
        ("opt/env/lib/run", {"mode": 0o755, **GROUP, "uid": 12345}, b"#!/bin/sh\n"),
        ("opt/env/out", {"type": b"2", "linkname": "/etc", **GROUP}, b""),
    )
    engine_client.api.import_image_from_data(content, repository="bancada-test-layout", tag="1")
    image = engine_client.images.get("bancada-test-layout:1")
    yield image
    engine_client.images.remove(image.id, force=True)


@pytest.fixture
def target(data, engine_client, image):
    target = data / "lowers" / "abc"
    lay_out(engine_client, image.id, "/opt/env", target, quiet)
    return target


def test_owner_group_mode_dates_and_links_are_kept(target):
    assert (target.stat().st_mode & 0o7777, target.stat().st_gid) == (0o2775, 1999999)
    first, second = (target / "lib" / "a.py").stat(), (target / "lib" / "b.py").stat()
    assert (first.st_mode & 0o7777, first.st_gid, int(first.st_mtime)) == (0o664, 1999999, 1_700_000_000)
    assert first.st_ino == second.st_ino
    assert (target / "lib" / "run").stat().st_uid == 12345
    assert str((target / "out").readlink()) == "/etc"
    assert verify_layout(target) == []


def test_a_layout_tells_its_size_and_is_made_once(engine_client, image, target):
    layout = read_layout(target)
    assert (layout.files, layout.bytes) == (3, len(b"x = 1\n#!/bin/sh\n"))
    said = []
    again = lay_out(engine_client, image.id, "/opt/env", target, lambda text, done=None: said.append(text))
    assert again == layout
    assert said == ["abc: already laid out"]


def test_the_same_image_gives_the_same_fingerprint(engine_client, image, target, data):
    other = lay_out(engine_client, image.id, "/opt/env", data / "lowers" / "other", quiet)
    assert other.fingerprint == read_layout(target).fingerprint


@pytest.mark.parametrize(
    ("harm", "expected"),
    [
        (lambda t: (t / "lib" / "run").unlink(), "lib/run is missing"),
        (lambda t: (t / "lib" / "run").write_text("#!/bin/sh\nevil\n"), "lib/run was changed"),
        (lambda t: (t / "lib" / "run").chmod(0o4755), "lib/run was changed"),
        (lambda t: os.lchown(t / "lib" / "run", 0, 0), "lib/run was changed"),
        (lambda t: (t / "new").touch(), "new was added"),
    ],
)
def test_what_was_tampered_with_is_named(target, harm, expected):
    harm(target)
    assert expected in verify_layout(target)


def test_a_symbolic_link_in_the_place_of_a_folder_is_not_followed(target):
    subprocess.run(["rm", "-r", target / "lib"], check=True)
    (target / "lib").symlink_to("/etc")
    found = verify_layout(target)
    assert "lib was changed" in found
    assert "lib/a.py is missing" in found
    assert not [line for line in found if "passwd" in line]


def test_missing_and_unknown_layouts_are_told(target, data):
    assert verify_layout(data / "lowers" / "none") == [f"{data}/lowers/none is missing"]
    (data / "lowers" / "abc.json").unlink()
    assert verify_layout(target) == [f"{data}/lowers/abc.json is missing or cannot be read"]
    assert read_layout(target) is None


def test_what_an_interrupted_layout_left_is_cleared(engine_client, image, data):
    target = data / "lowers" / "abc"
    remains = data / "lowers" / "abc.partial-999999999"
    remains.mkdir(parents=True)
    (remains / "half").touch()
    target.mkdir()
    (target / "without-an-index").touch()
    lay_out(engine_client, image.id, "/opt/env", target, quiet)
    assert sorted(path.name for path in target.parent.iterdir()) == ["abc", "abc.json"]
    assert verify_layout(target) == []


def test_a_failed_layout_leaves_nothing(engine_client, image, data):
    with pytest.raises(BuildError, match="/opt/nothing cannot be read from the image"):
        lay_out(engine_client, image.id, "/opt/nothing", data / "lowers" / "abc", quiet)
    assert list((data / "lowers").iterdir()) == []
    with pytest.raises(BuildError, match="cannot be laid out"):
        lay_out(engine_client, f"sha256:{'0' * 64}", "/opt/env", data / "lowers" / "abc", quiet)


def test_a_layout_can_be_removed(target):
    remove_layout(target)
    assert list(target.parent.iterdir()) == []
    remove_layout(target)
