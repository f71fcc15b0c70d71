"""What the machine has: of the machine itself, and of the container or control group that the site runs in."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.host.machine import Machine, core_limits, group_paths, memory_limits, read_machine

GIB = 1024**3
HERE = "0::/user.slice/site.service\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine of 32 GiB without limits."""
    write(tmp_path, "proc/meminfo", f"MemTotal:       {32 * GIB // 1024} kB\nMemFree: 1 kB\n")
    write(tmp_path, "proc/self/cgroup", HERE)
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def memory(root: Path, *, own: bool = False) -> int:
    return read_machine(own_group=own, root=root).memory_bytes


def test_this_machine_can_be_read() -> None:
    found = read_machine(own_group=True)
    assert found.memory_bytes > GIB // 4
    assert found.cores > 0


def test_a_machine_without_limits_has_all_of_its_memory(root: Path) -> None:
    write(root, "sys/fs/cgroup/memory.max", "max\n")
    write(root, "sys/fs/cgroup/cpu.max", "max 100000\n")
    assert memory(root) == 32 * GIB
    assert read_machine(own_group=False, root=root).cores >= 1


@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes"])
def test_a_container_has_what_it_was_given(root: Path, name: str) -> None:
    write(root, f"sys/fs/cgroup/{name}", f"{8 * GIB}\n")
    assert memory(root) == 8 * GIB


def test_the_limit_of_version_1_that_means_none_is_none(root: Path) -> None:
    write(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert memory(root) == 32 * GIB


def test_a_quota_of_half_a_core_is_half_a_core(root: Path) -> None:
    write(root, "sys/fs/cgroup/cpu.max", "50000 100000\n")
    assert read_machine(own_group=False, root=root) == Machine(32 * GIB, 0.5)
    write(root, "sys/fs/cgroup/cpu.max", "max 100000\n")
    write(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "25000\n")
    write(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    assert read_machine(own_group=False, root=root).cores == 0.25


def test_the_sites_own_group_counts_only_where_servers_are_its_children(root: Path) -> None:
    write(root, "sys/fs/cgroup/user.slice/memory.max", f"{6 * GIB}\n")
    write(root, "sys/fs/cgroup/user.slice/site.service/memory.max", "max\n")
    assert memory(root) == 32 * GIB
    assert memory(root, own=True) == 6 * GIB


def test_groups_of_both_versions_are_found() -> None:
    text = "4:memory:/jobs/a\n2:cpuacct,cpu:/jobs/b\n1:name=systemd:/\n0::/c\n"
    assert group_paths(text, "memory") == ["/jobs/a", "/c"]
    assert group_paths(text, "cpu") == ["/jobs/b", "/c"]


@given(st.text(), st.text())
def test_text_that_is_no_limit_is_none(one: str, other: str) -> None:
    assert all(limit > 0 for limit in memory_limits(one, other))
    assert all(limit > 0 for limit in core_limits(f"{one} {other}"))
