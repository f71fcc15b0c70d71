"""Where packages come from: a site's index, mirror, wheelhouse, certificate authority and proxies.

A build sees them through the environment of its own processes and through read-only binds, a running server through
its environment: no image ever holds them.
"""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import unquote, urlsplit

BUILD_FOLDER = "/run/bancada-build"
RUNTIME_FOLDER = "/run/bancada"
_CREDENTIALS = re.compile(r"(?<=://)[^\s/]*@")


def mask_credentials(text: str) -> str:
    """Replace user names and passwords of every address in a text."""
    return _CREDENTIALS.sub("***@", text)


@dataclass(frozen=True)
class ReadOnlyBind:
    """A file or folder of the host that a container sees and cannot change."""

    source: Path
    target: str


@dataclass(frozen=True, repr=False)
class PackageSources:
    """Where packages come from; a field that is None leaves the tools' own default.

    Attributes:
        index_url: Python package index instead of the public one.
        extra_index_urls: Indexes asked before it.
        wheelhouse: Folder of wheels; without `index_url` nothing else is asked.
        ca_bundle: Certificate authorities, in PEM, that TLS trusts.
        http_proxy: Proxy for http addresses.
        https_proxy: Proxy for https addresses.
        no_proxy: Hosts that are reached without a proxy, separated by commas.
        debian_mirror: Debian mirror instead of the public one.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    wheelhouse: Path | None = None
    ca_bundle: Path | None = None
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None
    debian_mirror: str | None = None

    def __repr__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return self.masked(f"PackageSources({values})")

    @property
    def offline(self) -> bool:
        """True where a wheelhouse is all there is."""
        return self.wheelhouse is not None and self.index_url is None and not self.extra_index_urls

    def masked(self, text: str) -> str:
        """Remove these sources' credentials from a line that a tool printed."""
        for secret in self._secrets():
            text = text.replace(secret, "***")
        return mask_credentials(text)

    def build_environment(self) -> dict[str, str]:
        """Return the environment of a process in a build container."""
        ca, wheelhouse = f"{BUILD_FOLDER}/ca.crt", f"{BUILD_FOLDER}/wheelhouse"
        return self._uv(wheelhouse) | self._authority(ca, "SSL_CERT_FILE") | self.proxy_environment()

    def build_binds(self) -> tuple[ReadOnlyBind, ...]:
        """Return what a build container must see for `build_environment` to hold."""
        return self._binds(BUILD_FOLDER)

    def host_environment(self) -> dict[str, str]:
        """Return what a process on the host, uv or npm, needs beyond its own environment."""
        names = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
        return self._uv(str(self.wheelhouse)) | self._authority(str(self.ca_bundle), *names) | self.proxy_environment()

    def runtime_environment(self) -> dict[str, str]:
        """Return the environment that makes pip, uv and requests in a running server use these sources."""
        ca, wheelhouse = f"{RUNTIME_FOLDER}/ca.crt", f"{RUNTIME_FOLDER}/wheelhouse"
        names = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
        environment = self._uv(wheelhouse) | self._authority(ca, *names) | self.proxy_environment()
        if self.index_url:
            environment["PIP_INDEX_URL"] = self.index_url
        if self.extra_index_urls:
            environment["PIP_EXTRA_INDEX_URL"] = " ".join(self.extra_index_urls)
        if self.wheelhouse:
            environment["PIP_FIND_LINKS"] = wheelhouse
        if self.offline:
            environment["PIP_NO_INDEX"] = "1"
        return environment

    def runtime_mounts(self) -> tuple[ReadOnlyBind, ...]:
        """Return what a running server must see for `runtime_environment` to hold."""
        return self._binds(RUNTIME_FOLDER)

    def proxy_environment(self) -> dict[str, str]:
        """Return the proxy variables in both spellings: programs disagree on which they read."""
        given = {"http_proxy": self.http_proxy, "https_proxy": self.https_proxy, "no_proxy": self.no_proxy}
        present = {name: value for name, value in given.items() if value}
        return present | {name.upper(): value for name, value in present.items()}

    def _uv(self, wheelhouse: str) -> dict[str, str]:
        environment = {}
        if self.index_url:
            environment["UV_DEFAULT_INDEX"] = self.index_url
        if self.extra_index_urls:
            environment["UV_INDEX"] = " ".join(self.extra_index_urls)
        if self.wheelhouse:
            environment["UV_FIND_LINKS"] = wheelhouse
        if self.offline:
            environment["UV_OFFLINE"] = "1"  # uv has no variable for --no-index
        return environment

    def _authority(self, path: str, *names: str) -> dict[str, str]:
        return dict.fromkeys(names, path) if self.ca_bundle else {}

    def _binds(self, folder: str) -> tuple[ReadOnlyBind, ...]:
        binds = []
        if self.ca_bundle:
            binds.append(ReadOnlyBind(self.ca_bundle, f"{folder}/ca.crt"))
        if self.wheelhouse:
            binds.append(ReadOnlyBind(self.wheelhouse, f"{folder}/wheelhouse"))
        return tuple(binds)

    def _secrets(self) -> list[str]:
        """Return the passwords of all addresses, as written and decoded, longest first."""
        addresses = (self.index_url, *self.extra_index_urls, self.http_proxy, self.https_proxy, self.debian_mirror)
        found = set()
        for address in addresses:
            password = urlsplit(address).password if address else None
            if password:
                found |= {password, unquote(password)}
        return sorted(found, key=len, reverse=True)
