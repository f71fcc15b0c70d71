"""What a server must find around itself before it serves; each line of /proc is a real server's."""

from dataclasses import replace

import pytest

from bancada.server.walls import Seen, check_walls, mounts

MOUNTS = """\
81 54 0:39 / / rw,relatime master:4 - overlay overlay rw,lowerdir=/a:/b,upperdir=/c,workdir=/d
99 81 254:0 /srv/b/datasets /data ro,relatime - ext4 /dev/vda rw,discard
100 81 254:0 /srv/b/examples /examples ro,relatime - ext4 /dev/vda rw,discard
101 81 254:0 /srv/b/state/2000001 /state rw,relatime - ext4 /dev/vda rw,discard
102 81 0:60 /@fs/projects/2/files /project rw,relatime - btrfs /dev/vdb rw,subvolid=5
106 81 0:41 / /opt/env rw,relatime - overlay overlay rw,upperdir=/b/projects/2/overlays/2000001/5/upper,workdir=/w
107 81 254:0 /srv/b/fs/homes/2000001 /home/ana rw,relatime - ext4 /dev/vda rw,discard
113 81 254:0 /srv/b/lowers/server-ca8f2db9b3c5 /opt/bancada ro,relatime - ext4 /dev/vda rw,discard
"""
STATUS = """\
Name:\tpython
CapInh:\t0000000000000000
CapPrm:\t0000000000000000
CapEff:\t0000000000000000
CapBnd:\t0000000000000000
NoNewPrivs:\t1
Seccomp:\t2
"""
SEEN = Seen("work", 2_000_001, "/home/ana", MOUNTS, STATUS, ("full", "null", "shm"), "void")


def test_a_server_that_finds_what_it_must() -> None:
    assert check_walls(SEEN) is None


def test_data_sets_may_be_a_file_system_of_their_own() -> None:
    changed = MOUNTS.replace("254:0 /srv/b/datasets /data ro,relatime - ext4", "0:70 / /data ro,relatime - nfs4")
    assert check_walls(replace(SEEN, mountinfo=changed)) is None


@pytest.mark.parametrize(
    ("line", "instead", "told"),
    [
        # E16: a source that could not be had, and an empty folder in memory in its place
        ("254:0 /srv/b/fs/homes/2000001 /home/ana", "0:99 / /home/ana", "/home/ana holds ext4 from /"),
        (
            "0:60 /@fs/projects/2/files /project rw,relatime - btrfs",
            "0:99 / /project rw - tmpfs",
            "/project holds tmpfs",
        ),
        ("/homes/2000001 /home", "/homes/2000002 /home", "/home/ana holds ext4 from /srv/b/fs/homes/2000002"),
        ("/projects/2/files /project", "/projects/2/files//deleted /project", "/project holds btrfs"),
        (" /state rw", " /elsewhere rw", "/state is not mounted"),
        ("/data ro", "/data rw", "/data holds"),
        ("/opt/bancada ro", "/opt/bancada rw", "/opt/bancada holds"),
        ("/overlays/2000001/", "/overlays/2000002/", "/opt/env does not hold your own changes"),
    ],
)
def test_another_mount_than_was_asked_for(line: str, instead: str, told: str) -> None:
    """E16 and D15: what is mounted is looked at, not believed."""
    assert line in MOUNTS
    failure = check_walls(replace(SEEN, mountinfo=MOUNTS.replace(line, instead)))
    assert failure is not None
    assert failure.reason == "mounts"
    assert failure.sentence.startswith(told)


def test_a_rescue_has_no_overlay() -> None:
    without = "".join(line for line in MOUNTS.splitlines(keepends=True) if " /opt/env " not in line)
    assert check_walls(replace(SEEN, kind="rescue", mountinfo=without)) is None
    assert check_walls(replace(SEEN, mountinfo=without)) is not None


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("CapEff:\t0000000000000000", "CapEff:\t00000000a80425fb"),
        ("CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff"),
        ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
        ("Seccomp:\t2\n", "Seccomp:\t0\n"),
        ("Seccomp:\t2\n", ""),
    ],
)
def test_an_engine_that_left_a_wall_out(line: str, instead: str) -> None:
    failure = check_walls(replace(SEEN, status=STATUS.replace(line, instead)))
    assert failure is not None
    assert (failure.reason, line.split(":")[0] in failure.sentence) == ("walls", True)


@pytest.mark.parametrize("cards", ["void", "", "none", None])
def test_cards_without_a_lease(cards: str | None) -> None:
    """D17: an image that asks for all cards, and a runtime that hands them out."""
    failure = check_walls(replace(SEEN, cards=cards, devices=("null", "nvidia0", "nvidiactl")))
    assert failure is not None
    assert failure.sentence.startswith("The server sees nvidia0, nvidiactl and has no lease of a card.")


def test_the_mount_on_top_counts() -> None:
    assert mounts(MOUNTS + "200 81 0:99 / /project rw - tmpfs tmpfs rw\n")["/project"].kind == "tmpfs"
