import io
import json
import os
import subprocess
import tarfile
import uuid
from pathlib import Path

import pytest

from bancada_images import bytecode
from bancada_images.build import build_image
from bancada_images.container import BUILD_LABEL, OWNER_LABEL, BuildContainer, _owner, remove_stale
from bancada_images.errors import BuildCancelled, BuildError
from bancada_images.sources import PackageSources

from .conftest import lock_of, quiet, tiny_wheel
from .served import gateway, serve

PERSON = "2000001:2000001"


@pytest.fixture
def labels():
    return {"bancada.site": uuid.uuid4().hex[:8]}


@pytest.fixture
def build(engine_client, base, bancada_wheel, wheelhouse, tiny_lock, tiny_spec, uv, labels):
    def call(lock=tiny_lock, spec=tiny_spec, sources=None, **changes):
        options = {"uv": uv, "labels": labels, "say": quiet, "cancelled": lambda: False} | changes
        sources = sources or PackageSources(wheelhouse=wheelhouse)
        return build_image(engine_client, spec, lock, base, bancada_wheel, sources, **options)

    return call


@pytest.fixture
def fresh_lock(tmp_path):
    """A lock that no earlier run has built, with the folder of its wheel."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    version = f"1.{uuid.uuid4().int % 10**12}"
    return lock_of(tmp_path / "fresh", tiny_wheel(wheels, version=version)), wheels


@pytest.fixture(scope="session")
def tiny(engine_client, base, bancada_wheel, wheelhouse, tiny_lock, tiny_spec, uv):
    sources = PackageSources(wheelhouse=wheelhouse)
    return build_image(
        engine_client,
        tiny_spec,
        tiny_lock,
        base,
        bancada_wheel,
        sources,
        uv=uv,
        labels={},
        say=quiet,
        cancelled=lambda: False,
    )


def inside(client, image, code, **options):
    said = client.containers.run(image.id, ["sh", "-c", code], remove=True, user=PERSON, network_mode="none", **options)
    return said.decode().strip()


def containers_of(client, labels):
    return client.containers.list(all=True, filters={"label": [f"{name}={value}" for name, value in labels.items()]})


def test_an_image_holds_its_lock_and_bancada(engine_client, tiny):
    code = "import tiny_thing, bancada, sys; print(tiny_thing.VERSION, sys.prefix)"
    assert inside(engine_client, tiny, f"/opt/env/bin/python -c '{code}'") == "1.0 /opt/env"
    assert inside(engine_client, tiny, "readlink /opt/env/bin/python") == "/usr/bin/python3"
    assert tiny.python.startswith("3.11.")


def test_all_modules_of_an_image_have_bytecode(engine_client, tiny):
    source = Path(bytecode.__file__).read_text(encoding="utf-8")
    command = ["/opt/env/bin/python", "-I", "-c", source, "/opt/env/lib"]
    said = engine_client.containers.run(tiny.id, command, remove=True, user=PERSON, network_mode="none")
    found = json.loads(said)
    assert found["missing"] == []
    assert found["compiled"] == found["modules"] > 5


def test_the_environment_belongs_to_its_group(engine_client, tiny):
    wrong = "find /opt/env ! -gid 1999999 -o -type d ! -perm 2775 -o -type f ! -perm -0060 -o ! -type l -perm -0002"
    assert inside(engine_client, tiny, wrong) == ""
    write = "touch /opt/env/lib/python3.11/site-packages/mine && stat -c %g /opt/env/lib/python3.11/site-packages/mine"
    assert inside(engine_client, tiny, write, group_add=[1999999]) == "1999999"


def test_equal_inputs_are_built_once(build, tiny):
    again = build()
    assert (again.id, again.tag, again.seconds) == (tiny.id, tiny.tag, 0.0)


def test_another_spec_or_lock_gives_another_name(build, tiny, tiny_spec, fresh_lock, engine_client):
    lock, wheels = fresh_lock
    other = build(lock=lock, sources=PackageSources(wheelhouse=wheels))
    try:
        assert other.tag != tiny.tag
        assert other.lock_hash == lock.sha256
        assert other.seconds > 0
    finally:
        engine_client.images.remove(other.id, force=True)


def test_where_packages_came_from_leaves_no_trace(engine_client, base, build, fresh_lock, tmp_path, labels):
    lock, wheels = fresh_lock
    index = tmp_path / "index"
    (index / "simple" / "tiny-thing").mkdir(parents=True)
    wheel = next(wheels.iterdir())
    (index / wheel.name).write_bytes(wheel.read_bytes())
    (index / "simple" / "tiny-thing" / "index.html").write_text(f'<a href="/{wheel.name}">{wheel.name}</a>')
    bundle = tmp_path / "ca.crt"
    bundle.write_text("# marker-of-the-authority\n" + certificate(tmp_path))
    said = []
    with serve(engine_client, base.id, index) as port:
        host = gateway(engine_client)
        sources = PackageSources(
            index_url=f"http://me:s3cret-of-the-index@{host}:{port}/simple",
            ca_bundle=bundle,
            http_proxy="http://me:s3cret-of-the-proxy@127.0.0.1:9",
            no_proxy=host,
        )
        image = build(lock=lock, sources=sources, say=lambda text, done=None: said.append(text))
    try:
        config = engine_client.images.get(image.id).attrs["Config"]
        assert config["Env"] == ["LANG=C.UTF-8"]
        assert config["Cmd"] == ["/bin/bash"]
        assert not config["Entrypoint"]
        assert not config["Volumes"]
        assert config["Labels"]["bancada.image"] == "tiny"
        assert config["Labels"][BUILD_LABEL] == config["Labels"]["bancada.site"] == ""
        history = json.dumps(engine_client.images.get(image.id).history())
        layer = last_layer(engine_client, image)
        for trace in ("s3cret-of-the", "marker-of-the-authority", host, "127.0.0.1:9", "bancada-build"):
            assert trace not in history
            assert trace.encode() not in layer, trace
        assert "s3cret" not in "\n".join(said)
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            outside = [member.name for member in archive if not f"{member.name}/".startswith("opt/")]
        assert outside == []
    finally:
        engine_client.images.remove(image.id, force=True)


def certificate(folder) -> str:
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=lab -days 2 -keyout k -out c"
    )
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return (folder / "c").read_text()


def last_layer(client, image) -> bytes:
    whole = b"".join(client.images.get(image.id).save())
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        manifest = json.load(archive.extractfile("manifest.json"))
        return archive.extractfile(manifest[0]["Layers"][-1]).read()


def test_a_cancelled_build_leaves_nothing(engine_client, build, fresh_lock, labels):
    lock, wheels = fresh_lock
    before = {image.id for image in engine_client.images.list(all=True)}
    said = []
    with pytest.raises(BuildCancelled):
        build(
            lock=lock,
            sources=PackageSources(wheelhouse=wheels),
            say=lambda text, done=None: said.append(text),
            cancelled=lambda: any("installing" in text for text in said),
        )
    assert containers_of(engine_client, labels) == []
    assert {image.id for image in engine_client.images.list(all=True)} == before


def test_a_build_that_fails_says_what_and_leaves_nothing(engine_client, build, fresh_lock, labels, tmp_path):
    lock, _ = fresh_lock
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(BuildError) as caught:
        build(lock=lock, sources=PackageSources(wheelhouse=empty))
    assert "Installing the packages of the lock failed with exit code" in caught.value.what
    assert "tiny-thing" in caught.value.what.replace("_", "-")
    assert "wheelhouse" in caught.value.fix
    assert containers_of(engine_client, labels) == []


def test_an_interrupted_build_is_cleared_by_the_next(engine_client, base, build, fresh_lock, labels):
    dead = engine_client.containers.create(
        base.id, ["sleep", "infinity"], labels=labels | {BUILD_LABEL: "1", OWNER_LABEL: "999999999:1"}
    )
    alive = engine_client.containers.create(
        base.id, ["sleep", "infinity"], labels=labels | {BUILD_LABEL: "1", OWNER_LABEL: _owner(os.getpid())}
    )
    try:
        assert remove_stale(engine_client, labels) == 1
        assert [container.id for container in containers_of(engine_client, labels)] == [alive.id]
        assert dead.id not in {container.id for container in engine_client.containers.list(all=True)}
    finally:
        alive.remove(force=True)


def test_a_nearly_full_disk_stops_a_build_before_it_begins(engine_client, build, fresh_lock, labels):
    lock, _ = fresh_lock
    with pytest.raises(BuildError) as caught:
        build(lock=lock, needed_bytes=1 << 60)
    root = engine_client.info()["DockerRootDir"]
    assert f"Not enough disk space for the image Tiny: it needs about 1073741824.0 GiB at {root}, " in str(caught.value)
    assert containers_of(engine_client, labels) == []


def test_a_base_with_another_python_is_refused(build, tiny_spec, fresh_lock):
    lock, wheels = fresh_lock
    spec = tiny_spec.model_copy(update={"suite": "trixie", "python": "3.13"})
    with pytest.raises(BuildError, match=r"The base has Python 3\.11\.\d+, the image tiny says 3\.13\."):
        build(lock=lock, spec=spec, sources=PackageSources(wheelhouse=wheels))


def test_a_missing_certificate_bundle_is_told(build, fresh_lock, tmp_path):
    lock, wheels = fresh_lock
    with pytest.raises(BuildError, match=r"ca\.pem does not exist, and the build needs it"):
        build(lock=lock, sources=PackageSources(wheelhouse=wheels, ca_bundle=tmp_path / "ca.pem"))


def test_a_step_streams_its_lines_and_its_exit_code(engine_client, base, labels):
    said = []
    with BuildContainer(engine_client, base.id, PackageSources(), labels) as container:
        finished = container.run(["sh", "-c", "echo one; echo two >&2; exit 3"], said.append)
    assert finished.exit_code == 3
    assert sorted(said) == ["one", "two"]
