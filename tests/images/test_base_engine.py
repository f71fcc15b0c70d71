import time
from pathlib import Path

import pytest
from docker.errors import ImageNotFound

from bancada_images import bytecode
from bancada_images.base import REPOSITORY, _import, ensure_base, require_space
from bancada_images.errors import BuildCancelled, BuildError

from .conftest import quiet
from .served import registry_folder, serve, tar_of


def test_a_base_has_what_servers_need_and_nothing_of_the_machine(engine_client, base):
    script = """
    set -e
    getent group bancada-env | cut -d: -f1,3
    ls -d /opt/env /opt/bancada /home /project /data /examples /places /state >/dev/null
    git --version >/dev/null; gcc --version >/dev/null; ssh -V 2>/dev/null; curl --version >/dev/null; ps >/dev/null
    test "$(locale charmap)" = UTF-8
    find /etc/apt/apt.conf.d /var/cache/apt /usr/share/man -name '*mmdebstrap' -o -name '*.deb' -o -name '*.gz'
    test ! -s /etc/machine-id
    """
    said = engine_client.containers.run(base.id, ["bash", "-c", script], remove=True, network_mode="none")
    assert said.decode().split("\n") == ["bancada-env:1999999", ""]


def test_the_base_brings_valid_bytecode_for_the_standard_library(engine_client, base):
    source = Path(bytecode.__file__).read_text(encoding="utf-8")
    said = engine_client.containers.run(
        base.id, ["python3", "-I", "-c", source, "/usr/lib/python3.11"], remove=True, user="65534", network_mode="none"
    )
    assert b'"missing": []' in said


def test_a_base_is_made_once(engine_client, base, tiny_spec, internet, tmp_path):
    said = []
    again = ensure_base(
        engine_client,
        tiny_spec,
        internet,
        base_image=None,
        scratch=tmp_path,
        say=lambda text, done=None: said.append(text),
    )
    assert again == base
    assert said == ["Base: already in the engine"]
    assert base.tag.startswith("bancada-base:bookworm-")


def test_a_cancelled_base_leaves_nothing(engine_client, tiny_spec, internet, tmp_path):
    spec = tiny_spec.model_copy(update={"apt": ("tree",)})
    (tmp_path / "bancada-base-999999999-x" / "of-a-killed-run").mkdir(parents=True)
    before = {image.id for image in engine_client.images.list(all=True)}
    said = []
    began = time.monotonic()
    with pytest.raises(BuildCancelled):
        ensure_base(
            engine_client,
            spec,
            internet,
            base_image=None,
            scratch=tmp_path,
            say=lambda text, done=None: said.append(text),
            cancelled=lambda: any("downloading" in text for text in said),
        )
    assert time.monotonic() - began < 60
    assert list(tmp_path.iterdir()) == []
    assert {image.id for image in engine_client.images.list(all=True)} == before


def test_an_import_that_breaks_off_leaves_no_image(engine_client):
    before = {image.id for image in engine_client.images.list(all=True)}

    def broken():
        yield tar_of(("etc/", {"type": b"5"}, b""), ("etc/big", {}, b"x" * 3_000_000))[:2_000_000]
        raise BuildCancelled

    with pytest.raises(BuildCancelled):
        _import(engine_client, broken(), "bookworm-broken", [])
    with pytest.raises(ImageNotFound):
        engine_client.images.get(f"{REPOSITORY}:bookworm-broken")
    assert {image.id for image in engine_client.images.list(all=True)} == before


def test_a_base_of_a_registry_comes_by_its_digest(engine_client, base, tiny_spec, internet, tmp_path):
    layer = tar_of(("from-a-registry", {}, str(time.time_ns()).encode()))
    digest = registry_folder(tmp_path / "registry", "lab/base", layer)
    said = []
    with serve(engine_client, base.id, tmp_path / "registry") as port:
        reference = f"127.0.0.1:{port}/lab/base@{digest}"
        pulled = ensure_base(
            engine_client,
            tiny_spec,
            internet,
            base_image=reference,
            scratch=tmp_path,
            say=lambda text, done=None: said.append(text),
        )
    try:
        assert (pulled.origin, pulled.reference) == ("registry", reference)
        assert pulled.tag == f"bancada-base:registry-{digest[7:19]}"
        assert engine_client.images.get(pulled.tag).id == pulled.id
        assert said[0] == f"Base: pulling 127.0.0.1:{port}/lab/base"
        again = ensure_base(engine_client, tiny_spec, internet, base_image=reference, scratch=tmp_path, say=quiet)
        assert again == pulled  # the registry is gone, and nobody asked it
    finally:
        engine_client.images.remove(pulled.id, force=True)


@pytest.mark.parametrize("reference", ["debian:bookworm", "debian", "debian@sha256:abc"])
def test_a_base_without_a_digest_is_refused(engine_client, tiny_spec, internet, tmp_path, reference):
    with pytest.raises(BuildError, match="has no digest: a tag may mean another image tomorrow"):
        ensure_base(engine_client, tiny_spec, internet, base_image=reference, scratch=tmp_path, say=quiet)


def test_a_registry_that_does_not_answer_is_told(engine_client, tiny_spec, internet, tmp_path):
    reference = f"127.0.0.1:1/lab/base@sha256:{'0' * 64}"
    with pytest.raises(BuildError) as caught:
        ensure_base(engine_client, tiny_spec, internet, base_image=reference, scratch=tmp_path, say=quiet)
    assert "connection refused" in str(caught.value)
    assert "127.0.0.1:1" in str(caught.value)


def test_too_little_space_is_told_with_the_amounts(tmp_path):
    with pytest.raises(BuildError) as caught:
        require_space(tmp_path, 1 << 60, "the base")
    assert f"it needs about 1073741824.0 GiB at {tmp_path}, " in str(caught.value)
    assert "GiB are free." in str(caught.value)
