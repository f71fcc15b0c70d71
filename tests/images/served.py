"""A folder served over HTTP from inside the engine's own network: an index or a registry that needs no internet."""

import contextlib
import gzip
import hashlib
import io
import ipaddress
import json
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
from docker.types import Mount

# Python's file server, with two additions: a folder's own content type, as registries need it, and a log of requests.
SERVER = """
import http.server, pathlib, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def guess_type(self, path):
        beside = pathlib.Path(str(path) + ".type")
        return beside.read_text() if beside.exists() else super().guess_type(path)
server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), lambda *a: Handler(*a, directory="/served"))
print("port", server.server_port, flush=True)
server.serve_forever()
"""


@contextlib.contextmanager
def serve(client: docker.DockerClient, image: str, folder: Path) -> Iterator[int]:
    """Serve a folder on all addresses of the engine's network; yields the port."""
    container = client.containers.run(
        image,
        ["python3", "-c", SERVER],
        detach=True,
        network_mode="host",
        mounts=[Mount("/served", str(folder), type="bind", read_only=True)],
    )
    try:
        deadline = time.monotonic() + 20
        while not (log := container.logs(stderr=False).decode()):
            assert time.monotonic() < deadline, container.logs().decode()
            time.sleep(0.05)
        yield int(log.split()[1])
    finally:
        container.remove(force=True, v=True)


def gateway(client: docker.DockerClient) -> str:
    """Return the address at which containers on the default bridge reach the engine's network."""
    # A new engine does not name it until its second start, but it is always the first address.
    subnet = client.networks.get("bridge").attrs["IPAM"]["Config"][0]["Subnet"]
    return str(next(ipaddress.ip_network(subnet).hosts()))


def tar_of(*members: tuple[str, dict, bytes]) -> bytes:
    """Return a tar of members: name, properties of TarInfo, content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, properties, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in properties.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def registry_folder(folder: Path, name: str, layer: bytes) -> str:
    """Lay an image of one layer out as a registry's API shows it; returns the manifest's digest."""
    blobs = folder / "v2" / name / "blobs"
    manifests = folder / "v2" / name / "manifests"
    blobs.mkdir(parents=True)
    manifests.mkdir()
    (folder / "v2" / "index.html").write_text("{}")
    packed = gzip.compress(layer, mtime=0)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": ["LANG=C.UTF-8"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
            "history": [{"created_by": "tests"}],
        }
    ).encode()
    media = "application/vnd.docker.{}"
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": media.format("distribution.manifest.v2+json"),
            "config": {
                "mediaType": media.format("container.image.v1+json"),
                "size": len(config),
                "digest": _digest(config),
            },
            "layers": [
                {
                    "mediaType": media.format("image.rootfs.diff.tar.gzip"),
                    "size": len(packed),
                    "digest": _digest(packed),
                }
            ],
        }
    ).encode()
    for content in (config, packed):
        (blobs / _digest(content)).write_bytes(content)
    digest = _digest(manifest)
    (manifests / digest).write_bytes(manifest)
    (manifests / f"{digest}.type").write_text(media.format("distribution.manifest.v2+json"))
    return digest


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
