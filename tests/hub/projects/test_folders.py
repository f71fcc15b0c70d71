"""Folders of servers, made as root on a real file system."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bancada_hub.errors import HostError
from bancada_hub.places import Places
from bancada_hub.projects.folders import Tenant, prepare_folders
from bancada_hub.projects.identities import Identity

UID, GID = 2_000_000, 2_000_001
TENANT = Tenant(Identity("ana", UID, "main", GID), project_id=2, base="a1a1a1a1a1a1")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    assert os.geteuid() == 0, "run the tests as root: folders of other accounts are made"
    for path in (tmp_path, *tmp_path.parents[:2]):  # a person's processes must get this far
        path.chmod(0o755)
    return Places(tmp_path)


def owned(path: Path) -> tuple[int, int, str]:
    found = path.lstat()
    return found.st_uid, found.st_gid, f"{stat.S_IMODE(found.st_mode):o}"


def run_as(uid: int, gid: int, script: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f"umask 022; {script}"],
        user=uid,
        group=gid,
        extra_groups=[],
        check=check,
        text=True,
        capture_output=True,
    )


def test_owner_and_mode_of_every_folder(places: Places) -> None:
    prepare_folders(places, TENANT)
    assert owned(places.home(UID)) == (UID, 0, "700")
    assert owned(places.state(UID)) == (UID, 0, "700")
    assert owned(places.project_files(2)) == (0, GID, "2770")
    overlay = places.overlay(2, UID, "a1a1a1a1a1a1")
    assert owned(overlay / "upper") == (UID, 1_999_999, "2775")
    assert owned(overlay / "work") == (UID, 1_999_999, "2775")
    for parent in (overlay, overlay.parent, places.project(2), places.fs / "homes", places.fs):
        assert owned(parent) == (0, 0, "711")
    assert owned(places.datasets) == (0, 0, "755")


def test_doing_it_again_changes_nothing(places: Places) -> None:
    prepare_folders(places, TENANT)
    home = places.home(UID)
    (home / "notes").write_text("mine")
    home.chmod(0o750)
    identity = places.identities / f"{UID}-2" / "passwd"
    before = identity.stat().st_ino
    prepare_folders(places, TENANT)
    assert owned(home) == (UID, 0, "750")
    assert (home / "notes").read_text() == "mine"
    assert identity.stat().st_ino == before


def test_members_share_files_while_the_umask_stays_022(places: Places) -> None:
    prepare_folders(places, TENANT)
    files = places.project_files(2)
    run_as(UID, GID, f"cd {files} && mkdir runs && echo a > runs/log")
    run_as(UID + 1, GID, f"cd {files} && echo b >> runs/log && touch runs/theirs && rm runs/theirs")
    assert owned(files / "runs" / "log") == (UID, GID, "660")
    assert run_as(UID + 2, GID + 1, f"ls {files}", check=False).returncode != 0


def test_the_default_acl_is_what_getfacl_reads(places: Places) -> None:
    prepare_folders(places, TENANT)
    command = ["getfacl", "--omit-header", "--absolute-names", str(places.project_files(2))]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert read[-3:] == ["default:user::rwx", "default:group::rwx", "default:other::---"]


def test_a_file_system_without_acls_is_named(places: Places) -> None:
    places.fs.mkdir()
    subprocess.run(["mount", "-t", "ramfs", "none", str(places.fs)], check=True)
    try:
        with pytest.raises(HostError, match="no access control lists") as caught:
            prepare_folders(places, TENANT)
        assert str(places.project_files(2)) in caught.value.what
    finally:
        subprocess.run(["umount", str(places.fs)], check=True)


def test_a_home_with_another_owner_is_reported_and_left_alone(places: Places) -> None:
    home = places.home(UID)
    home.mkdir(parents=True)
    os.chown(home, 1234, 1234)
    with pytest.raises(HostError) as caught:
        prepare_folders(places, TENANT)
    assert caught.value.what == f"{home} belongs to uid 1234; it must belong to uid {UID}."
    assert f"chown -R --no-dereference {UID}:0 {home}" in caught.value.fix
    assert owned(home)[:2] == (1234, 1234)


@pytest.mark.parametrize("swapped", ["home", "homes", "upper", "project"])
def test_a_link_on_the_way_is_never_followed(places: Places, tmp_path: Path, swapped: str) -> None:
    overlay = places.overlay(2, UID, "a1a1a1a1a1a1")
    link = {
        "home": places.home(UID),
        "homes": places.fs / "homes",
        "upper": overlay / "upper",
        "project": places.project(2),
    }[swapped]
    target = tmp_path / "elsewhere"
    target.mkdir(mode=0o755)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    with pytest.raises(HostError, match="is a symbolic link"):
        prepare_folders(places, TENANT)
    assert owned(target) == (0, 0, "755")
    assert list(target.iterdir()) == []


def test_a_file_where_a_folder_should_be(places: Places) -> None:
    places.state(UID).parent.mkdir(parents=True)
    places.state(UID).write_text("")
    with pytest.raises(HostError, match="not a directory"):
        prepare_folders(places, TENANT)


def test_links_inside_a_home_are_nobodys_business(places: Places) -> None:
    prepare_folders(places, TENANT)
    (places.home(UID) / "etc").symlink_to("/etc")
    before = owned(Path("/etc"))
    prepare_folders(places, TENANT)
    assert owned(Path("/etc")) == before


def test_passwd_and_group_name_the_person_and_the_project(places: Places) -> None:
    prepare_folders(places, TENANT)
    folder = places.identities / f"{UID}-2"
    assert f"ana:x:{UID}:{GID}::/home/ana:/bin/bash" in (folder / "passwd").read_text().splitlines()
    group = (folder / "group").read_text().splitlines()
    assert f"main:x:{GID}:ana" in group
    assert "bancada-env:x:1999999:ana" in group
    assert "directory = *" in (places.identities / "gitconfig").read_text()
    assert owned(folder / "passwd") == (0, 0, "644")


def test_without_root_everything_belongs_to_the_account(places: Places) -> None:
    os.chown(places.data, 12_345, 12_345)
    child = os.fork()
    if child == 0:  # another account cannot undo its setuid, so this needs a process of its own
        os.setgroups([])
        os.setgid(12_345)
        os.setuid(12_345)
        try:
            prepare_folders(places, TENANT)
        finally:
            os._exit(1 if sys.exc_info()[0] else 0)
    assert os.waitpid(child, 0)[1] == 0
    assert owned(places.home(UID)) == (12_345, 12_345, "700")
    assert owned(places.project_files(2)) == (12_345, 12_345, "2770")
