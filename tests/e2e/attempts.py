"""What a hostile notebook tries. Runs inside a server, as its person, with the standard library alone.

    python attempts.py NAME FACTS

FACTS is JSON (tests/e2e/test_f_hostile.py makes it). What is written is JSON: {"refused": why} or {"gained": what}.
An attempt returns what it gained; an OSError, or Refused, is what refuses it.
"""

import ctypes
import errno
import json
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

Facts = dict[str, str]
ATTEMPTS: dict[str, Callable[[Facts], str]] = {}
LIBC = ctypes.CDLL(None, use_errno=True)
MIB = 1024**2
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
SYSCALLS = {  # by the numbers of x86-64 and arm64: glibc has no function for them
    "add_key": (248, 217),
    "bpf": (321, 280),
    "init_module": (175, 105),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
}


class Refused(Exception):  # noqa: N818 - an outcome
    """What was tried was refused in words."""


def attempt(function: Callable[[Facts], str]) -> Callable[[Facts], str]:
    ATTEMPTS[function.__name__] = function
    return function


def call(name: str, *arguments: object) -> int:
    """Make a call to the kernel; what it refuses is an OSError."""
    number = SYSCALLS.get(name)
    if number:
        result = LIBC.syscall(number[platform.machine() == "aarch64"], *arguments)
    else:
        result = getattr(LIBC, name)(*arguments)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)


def connect(address: str, port: str | int) -> str:
    with socket.create_connection((address, int(port)), timeout=5):
        return f"{address}:{port} answers"


def listing(path: str) -> str:
    return str([found.name for found in Path(path).iterdir()])


def ask(facts: Facts, method: str, path: str, body: object = None, **headers: str) -> str:
    """Call the hub's API with the server's own token; an answer below 400 is a gain."""
    token = {"Authorization": f"token {os.environ['JUPYTERHUB_API_TOKEN']}"}
    url = facts["hub"] + path
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, token | headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return f"{answer.status}: {answer.read(200)!r}"
    except urllib.error.HTTPError as error:
        raise Refused(f"HTTP {error.code}") from error


# Files


@attempt
def read_another_home(facts: Facts) -> str:
    return listing(f"/home/{facts['peer']}")


@attempt
def read_another_home_by_its_path_on_the_machine(facts: Facts) -> str:
    return listing(f"{facts['data']}/fs/homes")


@attempt
def read_another_projects_folder(facts: Facts) -> str:
    return listing(f"{facts['data']}/fs/projects")


@attempt
def climb_out_of_the_projects_folder(facts: Facts) -> str:
    link = Path("/project/up")
    link.unlink(missing_ok=True)
    link.symlink_to("../../../../site/secrets/proxy-token")
    return link.read_text()


@attempt
def read_the_hubs_database(facts: Facts) -> str:
    return str(Path(f"{facts['data']}/site/hub.sqlite").read_bytes()[:16])


@attempt
def open_a_file_of_the_machine_by_its_number(_facts: Facts) -> str:
    # The way out of containers that keep CAP_DAC_READ_SEARCH: inode 2 is the root of the machine's file system.
    handle = struct.pack("=Iiq", 8, 1, 2)
    return f"file {call('open_by_handle_at', os.open('/project', os.O_RDONLY), handle, os.O_RDONLY)}"


@attempt
def change_what_servers_run(_facts: Facts) -> str:
    Path("/opt/bancada/bin/python.evil").write_text("evil")
    return "/opt/bancada was written"


@attempt
def become_somebody_else_in_passwd(_facts: Facts) -> str:
    with Path("/etc/passwd").open("a") as file:
        file.write("evil:x:0:0::/:/bin/sh\n")
    return "/etc/passwd was written"


@attempt
def change_a_data_set(_facts: Facts) -> str:
    Path("/data/evil").write_text("evil")
    return "/data was written"


@attempt
def reach_the_engine_by_its_socket(facts: Facts) -> str:
    reasons = []
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", facts["engine_socket"]):
        with socket.socket(socket.AF_UNIX) as caller:
            try:
                caller.connect(path)
            except OSError as error:
                reasons.append(error)
                continue
            return f"{path} answers"
    raise reasons[-1]


@attempt
def reach_a_socket_without_a_path(_facts: Facts) -> str:
    names = [line.split("@", 1)[1] for line in Path("/proc/net/unix").read_text().splitlines() if "@" in line]
    if not names:
        raise Refused("there is none")
    return str(names)


# The kernel


@attempt
def mount_something(_facts: Facts) -> str:
    return f"mounted {call('mount', b'none', b'/tmp', b'tmpfs', 0, None)}"


@attempt
def unmount_what_is_read_only(_facts: Facts) -> str:
    return f"unmounted {call('umount2', b'/opt/bancada', 2)}"


@attempt
def mount_by_a_program_with_roots_rights(_facts: Facts) -> str:
    done = subprocess.run(["mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(done.stderr.splitlines()[0])
    return "mounted"


@attempt
def become_root(_facts: Facts) -> str:
    os.setuid(0)
    return "root"


@attempt
def join_another_group(_facts: Facts) -> str:
    os.setgroups([0])
    return "group 0"


@attempt
def have_a_user_namespace(_facts: Facts) -> str:
    return f"root of one's own {call('unshare', CLONE_NEWUSER)}"


@attempt
def have_a_mount_namespace(_facts: Facts) -> str:
    return f"mounts of one's own {call('unshare', CLONE_NEWNS)}"


@attempt
def have_a_network_namespace(_facts: Facts) -> str:
    return f"a network of one's own {call('unshare', CLONE_NEWNET)}"


@attempt
def change_the_root(_facts: Facts) -> str:
    os.chroot("/tmp")
    return "another root"


@attempt
def see_the_hubs_process(facts: Facts) -> str:
    """A number of the machine means another process in here, or none."""
    words = Path(f"/proc/{facts['hub_pid']}/cmdline").read_bytes().decode().split("\0")
    if not any("jupyterhub" in word for word in words) or "bancada.server" in words:
        raise Refused("it is another process of this server")
    return str(words)


@attempt
def see_others_processes(_facts: Facts) -> str:
    others = [path.name for path in Path("/proc").glob("[0-9]*") if path.stat().st_uid != os.getuid()]
    if not others:
        raise Refused("there are none")
    return str(others)


@attempt
def trace_a_process_of_the_machine(facts: Facts) -> str:
    return f"attached {call('ptrace', 16, int(facts['hub_pid']), 0, 0)}"


@attempt
def load_a_kernel_module(_facts: Facts) -> str:
    return f"loaded {call('init_module', b'', 0, b'')}"


@attempt
def load_another_kernel(_facts: Facts) -> str:
    return f"loaded {call('kexec_load', 0, 0, None, 0)}"


@attempt
def run_a_program_in_the_kernel(_facts: Facts) -> str:
    return f"bpf {call('bpf', 0, ctypes.create_string_buffer(128), 128)}"


@attempt
def watch_the_machine_by_its_counters(_facts: Facts) -> str:
    wanted = ctypes.create_string_buffer(struct.pack("=II", 1, 112), 112)
    return f"perf {call('perf_event_open', wanted, -1, 0, -1, 0)}"


@attempt
def read_the_kernels_keys(_facts: Facts) -> str:
    return f"keyctl {call('keyctl', 0, -3, 1)}"


@attempt
def read_the_kernels_log(_facts: Facts) -> str:
    return f"log {call('klogctl', 3, ctypes.create_string_buffer(100), 100)}"


@attempt
def make_a_device(_facts: Facts) -> str:
    os.mknod("/tmp/disk", 0o600 | 0o060000, os.makedev(254, 0))
    return "the disk"


@attempt
def change_a_switch_of_the_kernel(_facts: Facts) -> str:
    Path("/proc/sys/kernel/core_pattern").write_text("|/tmp/evil")
    return "core_pattern was written"


@attempt
def write_to_a_control_group(_facts: Facts) -> str:
    limits = ("memory/memory.limit_in_bytes", "memory.max", "memory/cgroup.procs", "cgroup.procs")
    found = [path for name in limits if (path := Path("/sys/fs/cgroup") / name).exists()]
    found[0].write_text("max" if found[0].name == "memory.max" else "-1")
    return f"{found[0]} was written"


@attempt
def set_the_clock(_facts: Facts) -> str:
    time.clock_settime(time.CLOCK_REALTIME, 0)
    return "1970"


@attempt
def name_the_machine(_facts: Facts) -> str:
    socket.sethostname("evil")
    return "evil"


@attempt
def come_before_everybody_else(_facts: Facts) -> str:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    return "real time"


@attempt
def raise_a_limit(_facts: Facts) -> str:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard + 1))
    except ValueError as error:  # Python's word for EPERM
        raise Refused(str(error)) from error
    return f"more than {hard}"


# What there is only so much of


@attempt
def fork_without_end(facts: Facts) -> str:
    children: list[int] = []
    try:
        while len(children) < int(facts["pids"]) + 100:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
    return f"{len(children)} processes"


@attempt
def fill_the_memory(facts: Facts) -> str:
    """In a child, which the kernel ends: the server goes on."""
    child = os.fork()
    if child == 0:
        most = int(facts["memory_bytes"]) + 256 * MIB
        with mmap.mmap(-1, most) as space:
            for place in range(0, most, mmap.PAGESIZE):
                space[place] = 1
        os._exit(0)
    _pid, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        raise Refused("the kernel ended it")
    return f"all of the memory and more, status {status}"


def fill(path: Path, most: int) -> str:
    block = b"\1" * MIB
    try:
        with path.open("wb", buffering=0) as file:
            for _ in range(most // MIB + 16):
                if file.write(block) < len(block):
                    raise OSError(errno.ENOSPC, "full")
    finally:
        path.unlink()
    return f"{path} took more than {most} bytes"


@attempt
def fill_the_shared_memory(facts: Facts) -> str:
    return fill(Path("/dev/shm/evil"), int(facts["shm_bytes"]))


@attempt
def fill_the_runtime_folder(_facts: Facts) -> str:
    return fill(Path("/run/bancada/evil"), 64 * MIB)
