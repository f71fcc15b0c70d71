"""Making bancada.toml, and the one key that a command line changes."""

import pytest

from bancada_hub.cli.settings import settle
from bancada_hub.errors import SettingsError
from bancada_hub.places import Places


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    return Places(tmp_path)


def test_a_new_site_gets_only_what_it_needs(places):
    site = settle(places, engine="process", port=8100)
    assert (site.engine, site.port) == ("process", 8100)
    text = places.settings_file.read_text()
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == [
        'engine = "process"',
        "port = 8100",
    ]
    assert places.settings_file.stat().st_mode & 0o777 == 0o600


def test_the_shells_certificates_are_taken_over_once(places, tmp_path, monkeypatch):
    bundle = tmp_path / "ca.pem"
    bundle.write_text("certificates")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    assert settle(places, engine=None, port=None).packages.ca_bundle == bundle
    monkeypatch.setenv("SSL_CERT_FILE", "/elsewhere")
    assert settle(places, engine=None, port=None).packages.ca_bundle == bundle


def test_another_port_is_kept_and_the_rest_of_the_file_stays(places):
    places.settings_file.write_text('# ours\nname = "Lab A"  # on every page\nport = 8000\n')
    assert settle(places, engine=None, port=8300).port == 8300
    assert places.settings_file.read_text() == '# ours\nname = "Lab A"  # on every page\nport = 8300\n'


def test_a_port_that_cannot_be_leaves_the_file_as_it_was(places):
    places.settings_file.write_text("port = 8000\n")
    with pytest.raises(SettingsError, match="port: Input should be less than"):
        settle(places, engine=None, port=70_000)
    assert places.settings_file.read_text() == "port = 8000\n"


def test_the_engine_of_a_site_does_not_change(places):
    settle(places, engine="process", port=None)
    with pytest.raises(SettingsError, match="uses the process engine; what it holds fits that one only"):
        settle(places, engine="docker", port=None)


def test_a_typo_is_told_before_anything_is_written(places):
    places.settings_file.write_text("prot = 8000\n")
    with pytest.raises(SettingsError, match="line 1: there is no key “prot”"):
        settle(places, engine=None, port=8100)
    assert places.settings_file.read_text() == "prot = 8000\n"
