from pathlib import Path

from bancada_images.sources import PackageSources, mask_credentials

SITE = PackageSources(
    index_url="https://me:s3cr%40t@index.lab/simple",
    extra_index_urls=("https://extra.lab/a", "https://extra.lab/b"),
    wheelhouse=Path("/srv/wheels"),
    ca_bundle=Path("/etc/lab/ca.pem"),
    http_proxy="http://me:pr0xy@proxy.lab:3128",
    https_proxy="http://proxy.lab:3128",
    no_proxy="localhost,.lab",
)


def test_nothing_set_says_nothing():
    nothing = PackageSources()
    assert nothing.build_environment() == {}
    assert nothing.host_environment() == {}
    assert nothing.runtime_environment() == {}
    assert nothing.build_binds() == ()
    assert nothing.runtime_mounts() == ()
    assert not nothing.offline


def test_a_build_sees_paths_of_its_container():
    environment = SITE.build_environment()
    assert environment["UV_DEFAULT_INDEX"] == SITE.index_url
    assert environment["UV_INDEX"] == "https://extra.lab/a https://extra.lab/b"
    assert environment["UV_FIND_LINKS"] == "/run/bancada-build/wheelhouse"
    assert environment["SSL_CERT_FILE"] == "/run/bancada-build/ca.crt"
    assert environment["http_proxy"] == environment["HTTP_PROXY"] == SITE.http_proxy
    assert environment["no_proxy"] == environment["NO_PROXY"] == "localhost,.lab"
    assert [(str(bind.source), bind.target) for bind in SITE.build_binds()] == [
        ("/etc/lab/ca.pem", "/run/bancada-build/ca.crt"),
        ("/srv/wheels", "/run/bancada-build/wheelhouse"),
    ]


def test_the_host_sees_its_own_paths():
    environment = SITE.host_environment()
    assert environment["SSL_CERT_FILE"] == environment["NODE_EXTRA_CA_CERTS"] == "/etc/lab/ca.pem"
    assert environment["UV_FIND_LINKS"] == "/srv/wheels"


def test_a_running_server_serves_pip_uv_and_requests():
    environment = SITE.runtime_environment()
    assert environment["PIP_INDEX_URL"] == environment["UV_DEFAULT_INDEX"] == SITE.index_url
    assert environment["PIP_EXTRA_INDEX_URL"] == "https://extra.lab/a https://extra.lab/b"
    assert environment["PIP_FIND_LINKS"] == "/run/bancada/wheelhouse"
    for name in ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        assert environment[name] == "/run/bancada/ca.crt"
    assert "PIP_NO_INDEX" not in environment
    assert [bind.target for bind in SITE.runtime_mounts()] == ["/run/bancada/ca.crt", "/run/bancada/wheelhouse"]


def test_a_wheelhouse_alone_means_that_nothing_else_is_asked():
    alone = PackageSources(wheelhouse=Path("/srv/wheels"))
    assert alone.offline
    assert alone.build_environment() == {"UV_FIND_LINKS": "/run/bancada-build/wheelhouse", "UV_OFFLINE": "1"}
    assert alone.runtime_environment()["PIP_NO_INDEX"] == "1"


def test_credentials_are_masked_wherever_they_could_be_printed():
    assert "s3cr" not in repr(SITE)
    assert "pr0xy" not in repr(SITE)
    assert "index.lab/simple" in repr(SITE)
    line = SITE.masked("error: https://me:s3cr%40t@index.lab/simple refused s3cr@t and pr0xy")
    assert line == "error: https://***@index.lab/simple refused *** and ***"
    assert mask_credentials("http://a:b@c/d https://plain.lab/x@y") == "http://***@c/d https://plain.lab/x@y"
