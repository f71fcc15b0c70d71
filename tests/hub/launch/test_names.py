"""Names of containers, volumes, hosts and labels: two servers never meet in one, whatever people are called."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bancada_hub.launch.names import (
    LONGEST_LABEL,
    ServerKey,
    bridge_name,
    container_name,
    host_name,
    network_name,
    new_start_id,
    volume_name,
)

HARD = (
    *("foo_bar", "foo-bar", "foo_5Fbar", "user-name", "user_2Dname", "user_5F2Dname", "user--name", "user---name"),
    *("X.Y.Z@lab.org", "x.y.z@lab.org", "x-y-z-lab-org", "_x", "x", "-x", "x-", "_", "-", "--", "."),
    *(
        "a" * 63,
        "a" * 64,
        "a" * 65,
        "josé",
        "jose",
        "jose\u0301",
        "李雷",
        "ана",
        "\U0001d4b6na",
        "ana\u200d",
        "xn",
        "xn--ana",
    ),
)
"""Field cases D1 and D2, and the pairs that meet when a character is escaped into what is a name already."""

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
CONTAINER = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
INTERFACE = re.compile(r"[a-z0-9-]{1,15}")

sites = some.from_regex(r"[0-9a-f]{8}", fullmatch=True)
numbers = some.integers(0, 2**31)
keys = some.builds(ServerKey, sites, numbers, numbers)
names = some.one_of(
    some.sampled_from(HARD), some.text(max_size=70), some.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True)
)


def parts(name: str) -> ServerKey:
    site, uid, project = re.fullmatch(r"bancada-([0-9a-f]{8})-(\d+)-(\d+)", name).groups()  # type: ignore[union-attr]
    return ServerKey(site, int(uid), int(project))


@given(keys)
def test_a_containers_name_says_which_server_it_is(key: ServerKey) -> None:
    """D1, D4: from the name alone the server can be told, so no two servers have one name."""
    name = container_name(key)
    assert parts(name) == key
    assert CONTAINER.fullmatch(name)
    assert len(name) <= LONGEST_LABEL  # it is a host name on the bridge, too


@given(keys, keys)
def test_a_volumes_name_is_one_starts_and_no_containers(key: ServerKey, other: ServerKey) -> None:
    start, later = new_start_id(), new_start_id()
    made = {volume_name(key, start), volume_name(key, later), volume_name(other, start), container_name(key)}
    assert len(made) == (4 if key != other else 3)
    assert all(CONTAINER.fullmatch(name) and len(name) <= 64 for name in made)


@given(keys, keys)
def test_labels_tell_servers_apart(key: ServerKey, other: ServerKey) -> None:
    assert (key.labels == other.labels) == (key == other)
    assert all(re.fullmatch(r"[a-z0-9.-]+", word) for pair in key.labels.items() for word in pair)


@given(sites)
def test_the_bridge_and_its_interface_are_the_sites(site: str) -> None:
    assert network_name(site).endswith(site)
    assert bridge_name(site).endswith(site)
    assert INTERFACE.fullmatch(bridge_name(site))


@given(names, names)
def test_a_host_name_is_a_dns_label(user: str, project: str) -> None:
    """D2: an e-mail address, an underscore or another alphabet is no host name."""
    made = host_name(user, project)
    assert LABEL.fullmatch(made), made
    assert made[2:4] != "--", made  # what begins like that is read as an encoded name


@given(names, names, names, names)
def test_no_two_pairs_have_one_host_name(user: str, project: str, other_user: str, other_project: str) -> None:
    same = (user, project) == (other_user, other_project)
    assert (host_name(user, project) == host_name(other_user, other_project)) == same


def test_hard_names_and_pairs_that_meet_when_joined() -> None:
    pairs = [*product(HARD, HARD), ("ana-b", "c"), ("ana", "b-c"), ("b", "c--ana"), ("ana--b", "c")]
    made = {pair: host_name(*pair) for pair in pairs}
    assert len(set(made.values())) == len(set(pairs))
    assert all(LABEL.fullmatch(name) for name in made.values())


@pytest.mark.parametrize(
    ("user", "project", "starts"),
    [
        ("ana", "soil-carbon", "soil-carbon--ana"),
        ("ana.b", "main", "main-ana-b---"),
        ("X.Y.Z@lab.org", "main", "main-x-y-z-lab-org---"),
        ("李雷", "main", "main---"),
        ("ana", "xn", "xn-ana---"),
        ("_", "_", "server---"),
    ],
)
def test_a_host_name_can_still_be_read(user: str, project: str, starts: str) -> None:
    assert host_name(user, project).startswith(starts)
