"""bancada.toml: what describes a site, validated, with every key documented.

The reference page docs/admin/settings.md is generated from these models: a key's description is its documentation,
and names the unit.
"""

import difflib
import ipaddress
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bancada_hub.errors import SettingsError
from bancada_hub.places import Places
from bancada_images.sources import PackageSources

GIB = 1024**3
LONGEST_DATA_PATH = 80
"""Characters: unix sockets below it end at 107 (unix(7)), and 45 lower directories must fit into one kernel page."""

NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "ceph", "lustre", "beegfs"})


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DatabaseSettings(_Table):
    """Where people, projects, images and all that happens are kept."""

    url: str = Field(
        "",
        description="PostgreSQL as postgresql://user@host:5432/name; Bancada and JupyterHub keep their tables in the "
        "schemas `bancada` and `jupyterhub` there. Empty: two SQLite files in the data directory.",
    )
    password_file: Path | None = Field(
        None, description="A file of mode 0600 that holds the database password, so that it stands in no setting."
    )

    @field_validator("url")
    @classmethod
    def _postgresql(cls, url: str) -> str:
        if url and not url.startswith("postgresql://"):
            msg = "only postgresql://user@host:port/name is known; leave it empty for SQLite"
            raise ValueError(msg)
        if re.match(r"postgresql://[^@/]*:[^@/]*@", url):
            msg = "a password in the address would show in logs; put it into a file and name that as password_file"
            raise ValueError(msg)
        return url


class PackageSettings(_Table):
    """Where packages come from, for builds and for running servers alike."""

    index_url: str | None = Field(None, description="The Python package index used instead of the public one.")
    extra_index_urls: tuple[str, ...] = Field((), description="Further Python package indexes.")
    wheelhouse: Path | None = Field(
        None, description="A folder of wheels. When set, no index is asked: for labs without a way out."
    )
    npm_registry: str | None = Field(None, description="The npm registry used instead of the public one.")
    debian_mirror: str | None = Field(None, description="The Debian mirror used instead of the public one.")
    ca_bundle: Path | None = Field(
        None,
        description="A PEM file of certificates to trust, for a site behind a TLS-inspecting proxy. "
        "Empty: SSL_CERT_FILE of the shell that runs `up`, else the machine's own.",
    )
    http_proxy: str | None = Field(None, description="The proxy for http addresses.")
    https_proxy: str | None = Field(None, description="The proxy for https addresses.")
    no_proxy: str | None = Field(None, description="Hosts reached without the proxy, separated by commas.")

    @field_validator("wheelhouse", "ca_bundle")
    @classmethod
    def _there(cls, path: Path | None) -> Path | None:
        if path is not None and not path.exists():
            msg = f"{path} does not exist"
            raise ValueError(msg)
        return path

    def sources(self) -> PackageSources:
        """Return these settings as builds and running servers use them."""
        return PackageSources(**self.model_dump(exclude={"npm_registry"}))


class PeopleSettings(_Table):
    """Accounts and the numbers they get."""

    uid_min: int = Field(2_000_000, ge=1000, description="The first uid given to a person; one more for each.")
    gid_min: int = Field(2_000_000, ge=1000, description="The first gid given to a project; one more for each.")


class ServerSettings(_Table):
    """What a researcher's server may use."""

    memory_gib: float = Field(
        4.0,
        gt=0,
        description="Memory limit of a server of size M, in GiB; S has half of it, L the double, none more than the "
        "machine has for servers.",
    )
    cpus: float = Field(
        2.0,
        gt=0,
        description="CPU limit of a server of size M, in cores; S has half of it, L the double, none more than the "
        "machine.",
    )
    memory_reserve_gib: float | None = Field(
        None,
        ge=0,
        description="GiB of the machine's memory that servers never get: the sum of their memory limits stays under "
        "the rest. Empty: 2 GiB or a tenth of the memory, whichever is more. At least half is left for servers.",
    )
    cpu_overcommit: float = Field(
        4.0,
        ge=1,
        le=64,
        description="How many times over the machine's cores are given to servers: the sum of their CPU limits stays "
        "under cores times this. Idle servers need next to none; at 1, every server can use its limit at all times.",
    )
    shm_ratio: float = Field(
        0.5, gt=0, le=1, description="Size of /dev/shm as a share of the memory limit (data loaders and NCCL need it)."
    )
    pids: int = Field(4096, ge=64, description="The most processes and threads in a server.")
    nofile: int = Field(65_536, ge=1024, description="The most open files of a process in a server.")
    start_timeout_s: int = Field(120, ge=10, description="Seconds after which a start that does not answer is ended.")


class NetworkSettings(_Table):
    """The site's one bridge."""

    subnet: str | None = Field(
        None,
        description="The bridge's network, of /16 to /28, such as 10.89.0.0/24. Empty: a free one is chosen and kept. "
        "Half of its addresses are for servers of projects with open egress, a quarter each for `mirror` and `none`.",
    )
    denied: tuple[str, ...] = Field(
        (),
        description="Networks that no server reaches, such as [\"10.0.0.0/8\"]: the hospital's, the instruments'. "
        "Package sources and proxies named under `packages` stay reachable inside them, and so do this machine's name "
        "servers. Link-local and metadata addresses are always denied.",
    )

    @field_validator("subnet")
    @classmethod
    def _fit(cls, subnet: str | None) -> str | None:
        if subnet is None:
            return None
        network = ipaddress.IPv4Network(subnet)
        if not network.is_private or not 16 <= network.prefixlen <= 28:
            msg = f"{subnet} is not a private network of /16 to /28, such as 10.89.0.0/24"
            raise ValueError(msg)
        return str(network)

    @field_validator("denied")
    @classmethod
    def _networks(cls, denied: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(ipaddress.ip_network(network)) for network in denied)


class Site(_Table):
    """A site: one installation of Bancada."""

    name: str = Field("Bancada", min_length=1, max_length=60, description="Shown at the top of every page.")
    engine: Literal["docker", "process"] = Field(
        "docker",
        description="docker: a container for every server. process: plain processes, without isolation, for trials "
        "on a machine without root or containers.",
    )
    bind: str = Field("127.0.0.1", description="The address that the pages are served on. Any other needs TLS.")
    port: int = Field(
        8000, ge=1, le=65_531, description="The port of the pages. The four ports above it serve inside the machine."
    )
    tls_certificate: Path | None = Field(None, description="The certificate chain (PEM) for https.")
    tls_key: Path | None = Field(None, description="The key (PEM) for https.")
    base_image: str | None = Field(
        None,
        description="The image that all others stand on, as name@sha256:digest. Empty: made from Debian's packages.",
    )
    database: DatabaseSettings = DatabaseSettings()
    packages: PackageSettings = PackageSettings()
    people: PeopleSettings = PeopleSettings()
    server: ServerSettings = ServerSettings()
    network: NetworkSettings = NetworkSettings()

    @field_validator("base_image")
    @classmethod
    def _by_digest(cls, reference: str | None) -> str | None:
        if reference and not re.fullmatch(r"[^@\s]+@sha256:[0-9a-f]{64}", reference):
            msg = "must name an image by digest, as name@sha256:…, because a tag can move"
            raise ValueError(msg)
        return reference

    @model_validator(mode="after")
    def _tls(self) -> "Site":
        if bool(self.tls_certificate) != bool(self.tls_key):
            msg = "tls_certificate and tls_key belong together: set both or none"
            raise ValueError(msg)
        if self.bind not in {"127.0.0.1", "::1", "localhost"} and not self.tls_certificate:
            msg = f"bind = {self.bind!r} opens the site to a network, which needs tls_certificate and tls_key"
            raise ValueError(msg)
        return self

    @property
    def url(self) -> str:
        """Where a browser on this machine finds the site."""
        scheme = "https" if self.tls_certificate else "http"
        host = "127.0.0.1" if self.bind in {"0.0.0.0", "::"} else self.bind  # noqa: S104 - only compared with
        return f"{scheme}://{host}:{self.port}/"


def default_data_directory() -> Path:
    """Return the data directory used when none is named: of the machine for root, else of the person."""
    named = os.environ.get("BANCADA_DATA")
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/bancada")
    share = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(share) / "bancada"


def check_data_directory(data: Path) -> None:
    """Refuse a data directory on which something would fail later.

    Raises:
        SettingsError: It is on a network file system, is too long, or has a character that mounts cannot carry.
    """
    advice = "Choose another with --data DIR."
    for character in ",:":
        if character in str(data):
            msg = f"The data directory {data} has a “{character}” in its path, which breaks overlay mounts."
            raise SettingsError(msg, fix=advice)
    if len(str(data)) > LONGEST_DATA_PATH:
        msg = f"The data directory {data} is {len(str(data))} characters long; {LONGEST_DATA_PATH} are possible."
        raise SettingsError(msg, fix=advice)
    kind = file_system_of(data, Path("/proc/self/mountinfo").read_text())
    if kind in NETWORK_FILE_SYSTEMS:
        msg = f"The data directory {data} is on a network file system ({kind}); databases and overlays fail there."
        raise SettingsError(msg, fix="Choose a directory on a local disk with --data DIR.")


def file_system_of(path: Path, mountinfo: str) -> str:
    """Return the type of the file system that holds a path, from the text of /proc/self/mountinfo (proc(5))."""
    best, kind = "", "unknown"
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        mount = left.split()[4].encode().decode("unicode_escape")
        inside = mount == "/" or str(path) == mount or str(path).startswith(mount + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, right.split()[0]
    return kind


def load_site(places: Places) -> Site:
    """Read and validate a site's bancada.toml.

    Raises:
        SettingsError: There is none, or a key or value in it is wrong; the message names key and line.
    """
    path = places.settings_file
    try:
        text = path.read_text()
    except FileNotFoundError:
        msg = f"There is no site at {places.data}: {path.name} is missing."
        raise SettingsError(msg, fix="Run ./bancada up, or name another directory with --data DIR.") from None
    except PermissionError:
        msg = f"{path} may not be read by this account."
        raise SettingsError(msg, fix="Run the command as the account that made the site (root).") from None
    return parse_site(text, path)


def parse_site(text: str, path: Path) -> Site:
    """Validate the text of a bancada.toml; `path` is named in messages.

    Raises:
        SettingsError: It is not TOML, or a key or value in it is wrong.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        msg = f"{path} is not valid TOML: {error}."
        raise SettingsError(msg) from None
    try:
        return Site.model_validate(raw)
    except ValidationError as error:
        problems = [_problem(text, path, item) for item in error.errors()]
        raise SettingsError("\n".join(problems)) from None


def _problem(text: str, path: Path, item: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    keys = [str(part) for part in item["loc"]]
    place = f"{path}, line {line_of(text, keys)}" if keys else str(path)
    if item["type"] != "extra_forbidden":
        return f"{place}: {'.'.join(keys) or 'site'}: {item['msg'].removeprefix('Value error, ')}."
    known = _keys_at(keys[:-1])
    near = difflib.get_close_matches(keys[-1], known, n=1, cutoff=0.0)
    return f"{place}: there is no key “{'.'.join(keys)}”. The nearest is “{'.'.join([*keys[:-1], *near])}”."


def _keys_at(tables: list[str]) -> list[str]:
    model: Any = Site
    for table in tables:
        model = model.model_fields[table].annotation
    return list(model.model_fields)


def line_of(text: str, keys: list[str]) -> int:
    """Return the line (from 1) on which a key of a TOML text stands, or that of its table, or 1."""
    table: list[str] = []
    found = 1
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\]]+)\]", line)
        if header:
            table = [part.strip().strip("\"'") for part in header[1].split(".")]
            if table == keys[: len(table)]:
                found = number
            continue
        key = re.match(r"\s*([\w\-.\"']+)\s*=", line)
        parts = [*table, *(part.strip("\"'") for part in key[1].split("."))] if key else None
        if parts is not None and parts == keys[: len(parts)]:
            return number
    return found
