"""The plan of a server: what it holds, and what it refuses."""

import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.errors import LaunchRefused
from bancada_hub.launch.choices import Choices, options_of_form, parse_choices
from bancada_hub.launch.names import ServerKey, container_name, network_name, volume_name
from bancada_hub.launch.plan import Facts, LaunchPlan, plan
from bancada_hub.launch.sizes import SIZES
from bancada_images.sources import PackageSources
from tests.hub.launch.examples import ANA, GIB, MAIN, MINIMAL, ULIMITS, L, M, S, facts

WORK = Choices()


def refusal(given: Facts) -> LaunchRefused:
    with pytest.raises(LaunchRefused) as caught:
        plan(given, WORK)
    return caught.value


def mount(made: LaunchPlan, target: str) -> tuple[Path, bool]:
    (found,) = [item for item in made.mounts if item.target == target]
    return found.source, found.read_only


def test_a_server_runs_as_its_owner_in_the_projects_group() -> None:
    made = plan(facts(), WORK)
    assert (made.user, made.uid, made.gid, made.groups) == ("ana", 2_000_000, 2_000_001, (1_999_999,))
    assert made.command == ("/opt/bancada/bin/python", "-I", "-m", "bancada.server")
    assert made.network == "bancada-0123abcd"
    assert made.image_digest == MINIMAL.digest


def test_what_is_mounted_where_and_how() -> None:
    made = plan(facts(), WORK)
    data = Path("/srv/bancada")
    assert mount(made, "/opt/bancada") == (data / "lowers/server-1", True)
    assert mount(made, "/home/ana") == (data / "fs/homes/2000000", False)
    assert mount(made, "/project") == (data / "fs/projects/2/files", False)
    assert mount(made, "/data") == (data / "datasets", True)
    assert mount(made, "/examples") == (data / "examples", True)
    assert mount(made, "/state") == (data / "state/2000000", False)
    for file in ("passwd", "group"):
        assert mount(made, f"/etc/{file}") == (data / f"site/identities/2000000-2/{file}", True)
    assert mount(made, "/etc/gitconfig")[1]
    assert made.overlay is not None
    assert made.overlay.lowers == (data / "lowers/a1a1a1a1a1a1",)
    assert made.overlay.upper == data / "fs/projects/2/overlays/2000000/a1a1a1a1a1a1/upper"
    assert made.overlay.work == data / "fs/projects/2/overlays/2000000/a1a1a1a1a1a1/work"


def test_limits_reach_the_plan_in_base_units() -> None:
    resources = plan(facts(), WORK).resources
    assert (resources.cpus, resources.memory_bytes, resources.shm_bytes) == (2.0, 4 * GIB, 2 * GIB)
    assert resources.ulimits == ULIMITS


def test_a_server_without_a_lease_sees_no_card() -> None:
    made = plan(facts(), WORK)
    assert made.resources.gpu_uuids == ()
    assert dict(made.environment)["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_packages_in_the_home_are_on_nobodys_path_and_caches_count_on_no_quota() -> None:
    variables = dict(plan(facts(), WORK).environment)
    assert variables["PYTHONNOUSERSITE"] == "1"
    assert variables["UV_LINK_MODE"] == "copy"
    assert variables["PIP_CACHE_DIR"].startswith("/tmp/")
    assert variables["UV_CACHE_DIR"].startswith("/tmp/")
    assert variables["PATH"].split(":")[0] == "/opt/env/bin"
    assert variables["HOME"] == "/home/ana"


@pytest.mark.parametrize(
    ("profile", "of_the_page", "expected"), [("pt-BR", "en", "pt-BR"), ("", "pt-BR", "pt-BR"), ("", "", "")]
)
def test_the_profiles_language_comes_before_the_pages(profile: str, of_the_page: str, expected: str) -> None:
    made = plan(facts(who=replace(ANA, language=profile)), Choices(language=of_the_page))
    assert dict(made.environment)["BANCADA_LANGUAGE"] == expected


def test_a_sites_sources_of_packages_reach_a_server() -> None:
    sources = PackageSources(index_url="https://index.example/simple", ca_bundle=Path("/etc/site.pem"))
    made = plan(facts(sources=sources), WORK)
    assert dict(made.environment)["PIP_INDEX_URL"] == "https://index.example/simple"
    assert (Path("/etc/site.pem"), True) in [(item.source, item.read_only) for item in made.mounts]


def test_a_rescue_mounts_no_overlay() -> None:
    made = plan(facts(), Choices(kind="rescue"))
    assert made.overlay is None
    assert made.groups == ()
    assert dict(made.environment)["BANCADA_KIND"] == "rescue"


def test_the_size_is_what_was_chosen_else_that_of_the_start_before_else_m() -> None:
    for chosen, last, expected in (("", "", M), ("l", "", L), ("", "s", S), ("m", "l", M), ("", "xl", M)):
        made = plan(facts(last_size=last), Choices(size=chosen))
        assert (made.resources.memory_bytes, made.resources.cpus) == (expected.memory_bytes, expected.cpus)


def test_what_a_project_may_reach_needs_what_can_hold_it_to_that() -> None:
    """D19: mirror only without a mirror, or without containers, is refused rather than not kept."""
    mirror, none = replace(MAIN, egress="mirror"), replace(MAIN, egress="none")
    for case in ({"where": mirror}, {"where": mirror, "network": ""}, {"where": none, "network": ""}):
        with pytest.raises(LaunchRefused) as caught:
            plan(facts(**case), WORK)
        assert caught.value.reason == "egress"
    assert plan(facts(where=none), WORK).egress == "none"
    for sources in (PackageSources(http_proxy="http://proxy.example:3128"), PackageSources(wheelhouse=Path("/w"))):
        assert plan(facts(where=mirror, sources=sources), WORK).egress == "mirror"


def test_equal_facts_give_equal_hashes_and_any_change_another() -> None:
    first = plan(facts(), WORK)
    assert plan(facts(), WORK).plan_hash == first.plan_hash
    assert len(first.plan_hash) == 64
    others = [
        plan(facts(), Choices(kind="rescue")),
        plan(facts(what=replace(MINIMAL, digest="sha256:" + "b2" * 32)), WORK),
        plan(facts(sizes=replace(facts().sizes, m=replace(M, memory_bytes=GIB))), WORK),
    ]
    assert len({first.plan_hash, *(other.plan_hash for other in others)}) == 4
    assert first.labels("0" * 12)["bancada.plan"] == first.plan_hash


def test_a_plan_cannot_be_changed() -> None:
    made = plan(facts(), WORK)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.image_digest = "sha256:other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "reason", "says"),
    [
        ({"who": None}, "unknown-person", "not known"),
        ({"who": replace(ANA, disabled=True)}, "disabled", "disabled"),
        ({"who": replace(ANA, name="../root")}, "unknown-person", "cannot be used"),
        ({"server_name": ""}, "unnamed-server", "in a project"),
        ({"where": None}, "unknown-project", "no project “main”"),
        ({"where": replace(MAIN, member=False)}, "not-a-member", "no project “main”"),
        ({"what": None}, "no-image-yet", "no image yet"),
        ({"what": None, "preparation": "The image is still being prepared: step 3 of 6."}, "no-image-yet", "step 3"),
        ({"what": replace(MINIMAL, lower="../../etc")}, "environment-missing", "impossible folder"),
    ],
)
def test_refusals_say_why_and_what_to_do(changes: dict[str, object], reason: str, says: str) -> None:
    refused = refusal(facts(**changes))
    assert refused.reason == reason
    assert says in refused.what
    assert refused.fix or "step 3" in refused.what


def test_a_project_of_others_and_one_that_is_not_look_alike() -> None:
    assert str(refusal(facts(where=None))) == str(refusal(facts(where=replace(MAIN, member=False))))


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"image": "evil/x"}, "“image”"),
        ({"kind": "work", "mounts": []}, "“mounts”"),
        ({"kind": True}, "“True”"),
        ({"kind": ["work"]}, "kind"),
        ({"kind": "root"}, "these: work, rescue"),
        ({"size": "xl"}, "these: s, m, l"),
        ({"size": "S"}, "“S”"),
        ({"size": True}, "“True”"),
        ({"size": 2}, "“2”"),
        ({"size": None}, "“None”"),
        ({"size": ["l"]}, "size"),
        ({1: 2}, "“1”"),
        ([], "not list"),
        (None, "not NoneType"),
        ("work", "not str"),
    ],
)
def test_options_that_nobody_offers_are_refused(raw: object, says: str) -> None:
    """Field case D3: options are checked on the server, whatever way they came."""
    with pytest.raises(LaunchRefused) as caught:
        parse_choices(raw)
    assert caught.value.reason == "bad-options"
    assert says in caught.value.what


def test_no_options_are_the_defaults() -> None:
    assert parse_choices({}) == Choices(kind="work")
    assert parse_choices({"kind": "rescue"}) == Choices(kind="rescue")
    assert parse_choices({"language": "pt-BR"}) == Choices(language="pt-BR")
    assert [parse_choices({"size": size}).size for size in ("", *SIZES)] == ["", "s", "m", "l"]


def test_a_forms_fields_become_options() -> None:
    assert options_of_form({"_xsrf": ["t"], "kind": ["rescue"]}) == {"kind": "rescue"}
    with pytest.raises(LaunchRefused):
        parse_choices(options_of_form({"kind": ["work", "rescue"]}))


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())))
def test_options_are_understood_or_refused_and_nothing_else(raw: dict[str, object]) -> None:
    if set(raw) <= {"kind"} and raw.get("kind", "work") in ("work", "rescue"):
        assert parse_choices(raw) == Choices(**raw)
        return
    with pytest.raises(LaunchRefused):
        parse_choices(raw)


KEYS = st.builds(
    ServerKey,
    site_id=st.from_regex(r"[0-9a-f]{8}", fullmatch=True),
    uid=st.integers(0, 2**32 - 1),
    project_id=st.integers(0, 2**63 - 1),
)
STARTS = st.from_regex(r"[0-9a-f]{12}", fullmatch=True)


@given(KEYS, KEYS, STARTS, STARTS)
def test_no_two_servers_share_a_name(one: ServerKey, other: ServerKey, start: str, next_start: str) -> None:
    assert (container_name(one) == container_name(other)) == (one == other)
    assert (volume_name(one, start) == volume_name(other, next_start)) == ((one, start) == (other, next_start))
    assert len(volume_name(one, start)) <= 63
    assert container_name(one) != network_name(other.site_id)


@pytest.mark.parametrize("site_id", ["", "0123abc", "0123ABCD", "../../ab"])
def test_a_key_is_made_of_numbers(site_id: str) -> None:
    with pytest.raises(ValueError, match="not a server's numbers"):
        ServerKey(site_id, 1, 1)
