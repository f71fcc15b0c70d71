"""A real PostgreSQL server of the tests' own, on a loopback port, with a new database for whoever asks."""

import contextlib
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psycopg

READY_S = 30.0
LOOPBACK = "127.0.0.1"
PACKAGE = "postgresql"
ACCOUNTS = ("postgres", "nobody")
SETTINGS = ("fsync=off", "unix_socket_directories=", "max_connections=50")


class PostgresTroubleError(RuntimeError):
    """There is no PostgreSQL on this machine, or it did not come up."""


class Postgres:
    """One server; no password is asked for on its loopback port.

    Args:
        directory: A new directory for everything of it.
        port: A free port. It belongs to the network namespace in which `start` is called.
        listen: The addresses that it listens on.
    """

    def __init__(self, directory: Path, port: int, listen: str = LOOPBACK) -> None:
        self.directory = directory
        self._listen = listen
        self.port = port
        self._programs = find_programs()
        self._server: subprocess.Popen[bytes] | None = None
        self._made = 0

    @property
    def user(self) -> str:
        """The name of the superuser."""
        return "tester"

    def start(self) -> "Postgres":
        """Make the cluster when there is none yet, and start the server."""
        data = self.directory / "data"
        if not data.exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            if account := account_for_server():
                os.chown(self.directory, account.pw_uid, account.pw_gid)
            initdb = [
                "initdb",
                "--pgdata",
                str(data),
                "--username",
                self.user,
                "--auth=trust",
                "--no-sync",
                "-E",
                "UTF8",
            ]
            made = self._popen([*initdb, "--encoding=UTF8", "--locale=C.UTF-8"], self.directory / "initdb.log")
            if made.wait():
                raise PostgresTroubleError((self.directory / "initdb.log").read_text())
        chosen = (*SETTINGS, f"listen_addresses={self._listen}")
        settings = [word for setting in chosen for word in ("-c", setting)]
        command = ["postgres", "-D", str(data), "-p", str(self.port), *settings]
        self._server = self._popen(command, self.directory / "server.log")
        self._wait()
        return self

    def stop(self) -> None:
        """Stop the server at once; the databases stay, and `start` brings them back."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(3)  # SIGQUIT: immediate shutdown, which waits for no client
            self._server.wait(timeout=READY_S)

    def new_database(self) -> str:
        """Return the address of a new, empty database."""
        self._made += 1
        name = f"t{self._made}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._url(name)

    def _url(self, database: str) -> str:
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{database}"

    def _popen(self, command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a program of PostgreSQL, as an account that is not root: it refuses that one."""
        program = str(self._programs / command[0])
        account = account_for_server()
        identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
        with log.open("ab") as output:
            return subprocess.Popen(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                start_new_session=True,
                **identity,
            )

    def _wait(self) -> None:
        assert self._server is not None
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and self._server.poll() is None:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self._url("postgres")):
                return
            time.sleep(0.05)
        raise PostgresTroubleError((self.directory / "server.log").read_text())


def account_for_server() -> pwd.struct_passwd | None:
    """Return the account that PostgreSQL runs as when the tests run as root, else None: then it is the tests' own."""
    if os.geteuid() != 0:
        return None
    for name in ACCOUNTS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise PostgresTroubleError(f"PostgreSQL does not run as root, and there is no account {' or '.join(ACCOUNTS)}.")


def find_programs() -> Path:
    """Return the folder of PostgreSQL's programs: Debian keeps them off PATH, one folder a version."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    if on_path := shutil.which("initdb"):
        folders.append(Path(on_path).resolve().parent)
    for folder in folders:
        if all((folder / name).exists() for name in ("initdb", "postgres")):
            return folder
    raise PostgresTroubleError(
        f"There is no PostgreSQL. Install it: ./bancada test --yes, or: apt-get install {PACKAGE}"
    )
