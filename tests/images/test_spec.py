from pathlib import Path

import pytest

from bancada_images.errors import SpecError
from bancada_images.lock import read_lock
from bancada_images.spec import catalog_folder, read_spec, server_folder

GOOD = """\
title = "Vision"
purpose = "Image work."
suite = "bookworm"
python = "3.11"
apt = ["ffmpeg", "libgl1"]
"""


def image(tmp_path: Path, text: str, name: str = "vision") -> Path:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "image.toml").write_text(text, encoding="utf-8")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(SpecError) as caught:
        read_spec(folder)
    return str(caught.value)


def test_a_spec_is_read_with_the_folder_as_its_key(tmp_path):
    spec = read_spec(image(tmp_path, GOOD))
    assert (spec.key, spec.title, spec.suite, spec.python) == ("vision", "Vision", "bookworm", "3.11")
    assert spec.apt == ("ffmpeg", "libgl1")


def test_the_hash_is_of_the_meaning_not_of_the_layout(tmp_path):
    first = read_spec(image(tmp_path, GOOD))
    reordered = "\n# a comment\n" + "\n".join(reversed(GOOD.splitlines())).replace(
        '"ffmpeg", "libgl1"', '"libgl1", "ffmpeg", "ffmpeg"'
    )
    (tmp_path / "vision" / "image.toml").write_text(reordered, encoding="utf-8")
    assert read_spec(tmp_path / "vision").spec_hash == first.spec_hash
    (tmp_path / "vision" / "image.toml").write_text(GOOD.replace("ffmpeg", "sox"), encoding="utf-8")
    assert read_spec(tmp_path / "vision").spec_hash != first.spec_hash


def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_right_one(tmp_path):
    message = refusal(image(tmp_path, GOOD.replace("suite", "suit")))
    assert 'image.toml, line 3: unknown key "suit".' in message
    assert 'Did you mean "suite"?' in message


def test_a_key_that_resembles_nothing_is_refused_with_the_known_ones(tmp_path):
    assert "Known keys: title, purpose, suite, python, apt." in refusal(image(tmp_path, GOOD + "zzz = 1\n"))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("bookworm", "sid"), 'line 3: suite: "sid" is not a Debian suite'),
        (('"3.11"', '"3.12"'), 'line 4: python: bookworm brings Python 3.11, not "3.12".'),
        (('"ffmpeg"', '"ffmpeg; rm -rf /"'), "line 5: apt: "),
        (('title = "Vision"\n', ""), 'the key "title" is missing.'),
        (("title =", "title"), "is not valid TOML"),
    ],
)
def test_an_impossible_spec_is_refused_in_words(tmp_path, change, expected):
    assert expected in refusal(image(tmp_path, GOOD.replace(*change)))


def test_a_folder_that_cannot_name_an_image_is_refused(tmp_path):
    assert "cannot name an image" in refusal(image(tmp_path, GOOD, name="Vision_2"))


def test_a_missing_file_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "image.toml cannot be read: No such file or directory." in refusal(tmp_path / "empty")


@pytest.mark.parametrize("folder", sorted(path for path in catalog_folder().iterdir() if path.is_dir()))
def test_every_image_of_the_catalog_reads(folder):
    spec, lock = read_spec(folder), read_lock(folder)
    assert spec.key == folder.name
    assert lock.versions("ipykernel")
    assert lock.versions("pip"), "`python -m pip` must work in every work environment"


def test_the_server_environment_has_a_lock_with_one_hub_version():
    lock = read_lock(server_folder())
    assert len(lock.versions("jupyterhub")) == 1
    assert lock.versions("jupyterlab-language-pack-pt-BR")
