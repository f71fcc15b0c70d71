"""bancada.toml and the data directory: what is refused, and in which words."""

from pathlib import Path

import pytest

from bancada_hub.errors import SettingsError
from bancada_hub.places import Places
from bancada_hub.site import Site, check_data_directory, file_system_of, load_site, parse_site

FILE = Path("/srv/bancada.toml")


def refusal(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        parse_site(text, FILE)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 8000", "/srv/bancada.toml, line 1: there is no key “prot”. The nearest is “port”."),
        (
            'name = "x"\n\n[server]\nmemory_gb = 4',
            "/srv/bancada.toml, line 4: there is no key “server.memory_gb”. The nearest is “server.memory_gib”.",
        ),
        (
            "[packges]\nindex_url = 'x'",
            "/srv/bancada.toml, line 1: there is no key “packges”. The nearest is “packages”.",
        ),
        ("server.pid = 70", "/srv/bancada.toml, line 1: there is no key “server.pid”. The nearest is “server.pids”."),
    ],
)
def test_an_unknown_key_is_refused_with_its_line_and_the_nearest(text, message):
    assert refusal(text) == message


def test_a_wrong_value_names_key_and_line():
    assert refusal('engine = "docker"\nport = "many"').startswith("/srv/bancada.toml, line 2: port: Input should be")


def test_several_problems_are_told_at_once():
    assert len(refusal("prot = 1\nbasee_image = 'x'").splitlines()) == 2


def test_what_is_not_toml_says_where():
    assert refusal("port = [").startswith("/srv/bancada.toml is not valid TOML: ")


def test_an_open_address_needs_tls():
    assert "needs tls_certificate and tls_key" in refusal('bind = "0.0.0.0"')


def test_a_base_image_without_digest_is_refused():
    assert "must name an image by digest" in refusal('base_image = "debian:12"')


@pytest.mark.parametrize("subnet", ["10.89.0.0/15", "10.89.0.0/29", "8.8.8.0/24", "10.89.0.7/24", "fd00::/64", "x"])
def test_a_bridges_network_is_a_private_one_of_a_size_that_has_classes(subnet):
    assert "network.subnet: " in refusal(f'[network]\nsubnet = "{subnet}"')


def test_denied_networks_are_networks():
    assert "network.denied: 10.0.0.1/8 has host bits set." in refusal('[network]\ndenied = ["10.0.0.1/8"]')
    kept = parse_site('[network]\nsubnet = "10.89.0.0/16"\ndenied = ["10.0.0.0/8", "fd00::/8", "192.0.2.7"]', FILE)
    assert kept.network.subnet == "10.89.0.0/16"
    assert kept.network.denied == ("10.0.0.0/8", "fd00::/8", "192.0.2.7/32")


def test_a_password_in_the_database_address_is_refused_and_not_repeated():
    message = refusal('[database]\nurl = "postgresql://bancada:hunter2@db/bancada"')
    assert "password_file" in message
    assert "hunter2" not in message


def test_no_site_says_what_to_run(tmp_path):
    with pytest.raises(SettingsError, match=r"There is no site at .*\n?.*Run \./bancada up"):
        load_site(Places(tmp_path))


@pytest.mark.parametrize("path", ["/var/a,b", "/var/a:b"])
def test_a_data_directory_that_breaks_mounts_is_refused(path):
    with pytest.raises(SettingsError, match="breaks overlay mounts"):
        check_data_directory(Path(path))


def test_a_long_data_directory_is_refused():
    with pytest.raises(SettingsError, match="90 characters long; 80 are possible"):
        check_data_directory(Path("/" + "x" * 89))


def test_the_file_system_of_a_path_is_that_of_the_longest_mount():
    mountinfo = (
        "1 0 8:1 / / rw - ext4 /dev/vda rw\n"
        "2 1 0:50 / /srv rw - nfs4 server:/export rw\n"
        "3 2 0:51 / /srv/my\\040disk rw - xfs /dev/vdb rw\n"
    )
    assert file_system_of(Path("/srv/bancada"), mountinfo) == "nfs4"
    assert file_system_of(Path("/srvx"), mountinfo) == "ext4"
    assert file_system_of(Path("/srv/my disk/data"), mountinfo) == "xfs"


def test_defaults_are_a_site_on_loopback():
    site = Site()
    assert (site.url, site.engine) == ("http://127.0.0.1:8000/", "docker")
