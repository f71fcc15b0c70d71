from pathlib import Path

import pytest

from bancada_images.errors import SpecError
from bancada_images.lock import read_lock, refresh_lock

HASH = "--hash=sha256:" + "ab" * 32
GOOD = f"# a comment\nsix==1.17.0 \\\n    {HASH} \\\n    {HASH}\n    # via -r requirements.in\n"


def folder(tmp_path: Path, lock: str, wanted: str = "six>=1.16  # why\n") -> Path:
    (tmp_path / "requirements.in").write_text(wanted, encoding="utf-8")
    (tmp_path / "requirements.lock").write_text(lock, encoding="utf-8")
    return tmp_path


def refusal(where: Path) -> str:
    with pytest.raises(SpecError) as caught:
        read_lock(where)
    return str(caught.value)


def test_a_lock_is_read_with_its_versions(tmp_path):
    lock = read_lock(folder(tmp_path, GOOD))
    assert lock.pins == (("six", "1.17.0"),)
    assert lock.versions("Six") == {"1.17.0"}
    assert lock.versions("numpy") == frozenset()
    assert len(lock.sha256) == 64


def test_markers_may_give_one_name_two_versions(tmp_path):
    text = (
        f"six==1.16.0 ; python_full_version < '3.12' \\\n    {HASH}\n"
        f"six==1.17.0 ; python_full_version >= '3.12' \\\n    {HASH}\n"
    )
    assert read_lock(folder(tmp_path, text)).versions("six") == {"1.16.0", "1.17.0"}


@pytest.mark.parametrize(
    ("lock", "expected"),
    [
        ("six==1.17.0\n", "line 1: six has no SHA-256 hash."),
        (f"six>=1.17.0 {HASH}\n", "line 1: six is not pinned to one version."),
        (f"six==1.* {HASH}\n", "line 1: six is not pinned to one version."),
        (f"\nsix @ https://host/six.whl {HASH}\n", "line 2: "),
        (f"--index-url https://host/simple\n{GOOD}", 'line 1: "--index-url" is not a pinned requirement.'),
        (GOOD.replace("six", "seven"), 'requirements.lock does not cover "six>=1.16" of requirements.in.'),
    ],
)
def test_a_lock_that_proves_nothing_is_refused_with_the_command_that_mends_it(tmp_path, lock, expected):
    message = refusal(folder(tmp_path, lock))
    assert expected in message
    assert f"Run: cd {tmp_path} && uv pip compile --universal --python-version 3.11 --generate-hashes" in message


def test_a_missing_lock_is_refused(tmp_path):
    (tmp_path / "requirements.in").write_text("six\n", encoding="utf-8")
    assert "requirements.lock cannot be read" in refusal(tmp_path)


def test_a_lock_is_refreshed_from_a_wheelhouse_and_tells_no_place(tmp_path, wheelhouse, uv):
    (tmp_path / "requirements.in").write_text("tiny-thing\n", encoding="utf-8")
    lock = refresh_lock(tmp_path, uv, {"UV_FIND_LINKS": str(wheelhouse), "UV_OFFLINE": "1"})
    assert lock.versions("tiny-thing") == {"1.0"}
    assert str(tmp_path) not in lock.path.read_text(encoding="utf-8")
    assert str(wheelhouse) not in lock.path.read_text(encoding="utf-8")


def test_requirements_that_cannot_be_resolved_are_refused(tmp_path, wheelhouse, uv):
    (tmp_path / "requirements.in").write_text("tiny-thing>=2\n", encoding="utf-8")
    with pytest.raises(SpecError, match="cannot be locked"):
        refresh_lock(tmp_path, uv, {"UV_FIND_LINKS": str(wheelhouse), "UV_OFFLINE": "1"})
