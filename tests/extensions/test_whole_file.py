"""A file is replaced whole or not at all, on real file systems, a full one among them."""

import errno
import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bancada.server.whole_file import DiskFullError, write_whole


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB in memory that anybody may write."""
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "none", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def as_person(uid: int, work: object) -> int:
    """Run a function in a child process of another account; returns 0, or the errno it failed with."""
    child = os.fork()
    if child == 0:
        code = 255
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            work()  # type: ignore[operator]
            code = 0
        except OSError as error:
            code = error.errno or 255
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_and_a_new_content(tmp_path: Path) -> None:
    file = tmp_path / "n.ipynb"
    write_whole(file, b"one")
    write_whole(file, b"two, longer")
    assert file.read_bytes() == b"two, longer"
    assert names(tmp_path) == ["n.ipynb"]


def test_an_empty_content_is_a_content(tmp_path: Path) -> None:
    write_whole(tmp_path / "f", b"x")
    write_whole(tmp_path / "f", b"")
    assert (tmp_path / "f").read_bytes() == b""


def test_mode_and_owner_stay(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_bytes(b"old")
    file.chmod(0o750)
    os.chown(file, 1234, 4321)
    write_whole(file, b"new")
    found = file.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 4321, 0o750)


def test_access_control_lists_stay(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old")
    subprocess.run(["setfacl", "-m", "u:1234:rw", str(file)], check=True)
    write_whole(file, b"new")
    listed = subprocess.run(["getfacl", "-cnp", str(file)], capture_output=True, text=True, check=True).stdout
    assert "user:1234:rw-" in listed


def test_a_new_file_follows_the_folders_default_acl(tmp_path: Path) -> None:
    subprocess.run(["setfacl", "-d", "-m", "u::rwx,g::rwx,o::-", str(tmp_path)], check=True)
    write_whole(tmp_path / "f", b"x")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o660


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "there" / "f", tmp_path / "link"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link.symlink_to("there/f")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_full_disk_leaves_the_file_that_was_there(small_disk: Path) -> None:
    file = small_disk / "n.ipynb"
    write_whole(file, b"good" * 1000)
    with pytest.raises(DiskFullError) as caught:
        write_whole(file, b"x" * 2_000_000)
    assert caught.value.errno == errno.ENOSPC
    assert file.read_bytes() == b"good" * 1000
    assert names(small_disk) == ["n.ipynb"]


def test_a_full_disk_and_a_folder_that_takes_no_file(small_disk: Path) -> None:
    folder = small_disk / "closed"
    folder.mkdir()
    file = folder / "f"
    file.write_bytes(b"good")
    os.chown(file, 12_345, 12_345)
    assert as_person(12_345, lambda: write_whole(file, b"better")) == 0
    assert file.read_bytes() == b"better"
    assert as_person(12_345, lambda: write_whole(file, b"x" * 2_000_000)) == errno.ENOSPC
    assert file.read_bytes()[:6] == b"better"


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    file = tmp_path / "f"
    file.write_bytes(b"theirs")
    file.chmod(0o444)
    assert as_person(12_345, lambda: write_whole(file, b"mine")) == errno.EACCES
    assert file.read_bytes() == b"theirs"


def test_a_killed_writer_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"good")
    for after_s in (0.0005, 0.002, 0.01):
        child = os.fork()
        if child == 0:
            while True:
                write_whole(file, b"x" * 1_000_000)
        threading.Event().wait(after_s)
        os.kill(child, 9)
        os.waitpid(child, 0)
        assert file.read_bytes() in {b"good", b"x" * 1_000_000}


def test_a_name_of_the_longest_length(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 255)
    write_whole(file, b"x")
    assert file.read_bytes() == b"x"
