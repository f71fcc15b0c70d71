"""Whether there is room: sums that are never exceeded, and refusals that tell nobody what they may not know."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.launch.admission import Asker, Ceiling, NoRoom, Situation, decide, fits
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.sizes import SIZES, Limits, Sizes
from bancada_hub.store.servers import HeldServer
from bancada_hub.ui.language import words
from tests.hub.launch.examples import GIB, L, M, S

SIZE = Sizes(S, M, L)
WHEAT, RYE, HOME, LAB = 2, 3, 9, 1
ANA, BIA = 1, 2
ASKER = Asker(ANA, WHEAT, "wheat", LAB, frozenset({WHEAT}))
MACHINE = Ceiling(16 * GIB, 8.0)
NAMES = {ANA: "ana", BIA: "bia"}
TITLES = {WHEAT: "Wheat", RYE: "Rye", HOME: "Personal"}


def server(person: int, project: int, limits: Limits = M, lab: int | None = LAB) -> HeldServer:
    name = NAMES.get(person, f"p{person}")
    return HeldServer(
        start_id=f"{person}-{project}",
        person_id=person,
        project_id=project,
        kind="work",
        size="m",
        memory_bytes=limits.memory_bytes,
        cpus=limits.cpus,
        begun_at=datetime(2026, 12, 1, tzinfo=UTC),
        person_name=name,
        display_name=name.title() if name == "bia" else "",
        project_slug=TITLES.get(project, f"p{project}").lower(),
        project_title=TITLES.get(project, f"P{project}"),
        lab_id=lab,
        personal=lab is None,
    )


def refusal(size: str, situation: Situation) -> NoRoom:
    found = decide(next(each for each in SIZES if each == size), SIZE, situation)
    assert found is not None
    return found


memory = st.integers(1, 8 * GIB)
limits = st.builds(
    lambda bytes_, cpus: replace(M, memory_bytes=bytes_, cpus=cpus), memory, st.sampled_from([0.1, 1, 3])
)
held = st.lists(
    st.builds(server, st.integers(1, 6), st.sampled_from([WHEAT, RYE, 4]), limits),
    max_size=12,
    unique_by=lambda each: each.start_id,
)
ceilings = st.builds(Ceiling, st.none() | st.integers(1, 16 * GIB), st.none() | st.sampled_from([0.1, 0.3, 2.0, 6.0]))


@given(held, ceilings, ceilings, st.sampled_from(SIZES))
def test_no_sum_is_ever_exceeded_and_nothing_that_fits_is_refused(
    servers: list[HeldServer], project: Ceiling, lab: Ceiling, size: str
) -> None:
    situation = Situation(ASKER, MACHINE, project, lab, tuple(servers))
    asked = SIZE.of(next(each for each in SIZES if each == size))
    others = [each for each in servers if (each.person_id, each.project_id) != (ANA, WHEAT)]
    sums = {
        "machine": (MACHINE, others),
        "project": (project, [each for each in others if each.project_id == WHEAT]),
        "lab": (lab, others),  # all are of the one lab here
    }
    room = all(
        (most.memory_bytes is None or sum(e.memory_bytes for e in part) + asked.memory_bytes <= most.memory_bytes)
        and (most.cpus is None or sum(e.cpus for e in part) + asked.cpus <= most.cpus + 1e-6)
        for most, part in sums.values()
    )
    found = decide(next(each for each in SIZES if each == size), SIZE, situation)
    assert (found is None) == room == fits(asked, situation)
    if found:
        assert found.what
        assert found.fix
        assert words("pt_BR").gettext(found.what) != found.what


def test_tenths_of_cores_add_up_to_what_they_are() -> None:
    tenth = replace(M, cpus=0.1)
    servers = tuple(server(person, WHEAT, tenth) for person in range(2, 11))
    assert fits(tenth, Situation(ASKER, Ceiling(), Ceiling(cpus=1.0), held=servers))
    assert not fits(tenth, Situation(ASKER, Ceiling(), Ceiling(cpus=0.95), held=servers))


def test_ones_own_earlier_server_of_the_project_gives_its_place() -> None:
    assert decide("l", SIZE, Situation(ASKER, Ceiling(8 * GIB, 4.0), held=(server(ANA, WHEAT, L),))) is None


def test_a_full_machine_is_told_with_who_holds_what_and_what_would_fit() -> None:
    servers = (server(BIA, WHEAT, L), server(ANA, HOME, M, None), server(5, RYE), server(6, RYE, S))
    found = refusal("l", Situation(ASKER, Ceiling(20 * GIB, 99.0), held=servers))
    assert found.reason is Reason.NO_ROOM
    assert found.what == (
        "There is no room for size L now, which takes 8.0 GiB of memory: of the 20.0 GiB for servers, "
        "2.0 GiB are left. You hold 4.0 GiB in “Personal”. Bia holds 8.0 GiB in “Wheat”. "
        "Others hold 6.0 GiB in 2 servers."
    )
    assert found.fix == "Choose size S, which fits now."
    assert words("pt_BR").gettext(found.what).startswith("Não há espaço agora para o tamanho L, que ocupa 8,0 GiB")


def test_stopping_ones_own_server_is_named_when_it_would_help() -> None:
    servers = (server(ANA, HOME, L, None), server(5, RYE, L))
    found = refusal("m", Situation(ASKER, Ceiling(16 * GIB, 99.0), held=servers))
    assert found.fix == "Stop your server in “Personal” first."
    found = refusal("m", Situation(ASKER, Ceiling(18 * GIB, 99.0), held=servers))
    assert found.fix == "Choose size S, or stop your server in “Personal” first."
    found = refusal("m", Situation(ASKER, Ceiling(8 * GIB, 99.0), held=servers[1:]))
    assert found.fix == "Wait until a server is stopped, or ask somebody who does not need theirs to stop it."


@pytest.mark.parametrize("scope", ["machine", "lab"])
def test_who_works_in_a_foreign_project_is_told_to_nobody(scope: str) -> None:
    """A refusal is read by people of other groups: names and titles of projects that are not theirs stay there."""
    secret = replace(server(7, RYE, L), person_name="mallory", display_name="Mallory", project_title="Secret maize")
    full = Ceiling(8 * GIB, 99.0)
    found = refusal(
        "m",
        Situation(ASKER, MACHINE, lab=full, held=(secret,))
        if scope == "lab"
        else Situation(ASKER, full, held=(secret,)),
    )
    assert "allory" not in found.what + found.fix
    assert "maize" not in found.what + found.fix
    assert "Another server holds 8.0 GiB." in found.what


def test_many_holders_are_named_as_far_as_people_read() -> None:
    servers = tuple(server(person, WHEAT, S) for person in range(2, 12))
    found = refusal("m", Situation(ASKER, Ceiling(20 * GIB, 99.0), held=servers))
    assert found.what.count(" holds ") == 5
    assert "Others hold 10.0 GiB in 5 servers." in found.what


def test_the_ceiling_of_a_project_is_told_as_such() -> None:
    mate = (server(BIA, WHEAT, M),)
    found = refusal("m", Situation(ASKER, MACHINE, Ceiling(6 * GIB, None), held=mate))
    assert found.reason is Reason.PROJECT_CEILING
    assert found.what.startswith(
        "The project “wheat” has no room for size M, which takes 4.0 GiB of memory: of the 6.0 GiB that it "
        "may hold, 2.0 GiB are left. Bia holds 4.0 GiB in “Wheat”."
    )
    assert found.fix == "Choose size S, which fits now."
    found = refusal("m", Situation(ASKER, MACHINE, Ceiling(None, 2.0), held=mate))
    assert "which takes 2 cores: of the 2 cores that it may hold, 0 cores are left" in found.what
    assert found.fix == "Wait until a server is stopped, or ask a lead of the project to raise its limit."


def test_a_size_above_the_ceiling_is_not_told_to_wait() -> None:
    found = refusal("s", Situation(ASKER, MACHINE, Ceiling(GIB, None)))
    assert found.what == "Size S takes 2.0 GiB of memory, and the project “wheat” may hold 1.0 GiB."
    assert found.fix == "Ask a lead of the project to raise its limit."
    found = refusal("s", Situation(ASKER, MACHINE, lab=Ceiling(None, 0.5)))
    assert found.what == "Size S takes 1 core, and the projects of this lab may hold 0.5 cores."
    assert found.fix == "Ask an administrator to raise the lab's limit."


def test_what_other_labs_and_personal_projects_hold_does_not_count_for_a_lab() -> None:
    lab = Ceiling(8 * GIB, None)
    away = (server(5, RYE, L, lab=7), server(6, HOME, L, lab=None))
    assert decide("l", SIZE, Situation(ASKER, Ceiling(99 * GIB, 99.0), lab=lab, held=away)) is None
    found = refusal("l", Situation(ASKER, Ceiling(99 * GIB, 99.0), lab=lab, held=(*away, server(5, RYE, S))))
    assert found.reason is Reason.LAB_CEILING
    alone = replace(ASKER, lab_id=None)
    assert decide("l", SIZE, Situation(alone, Ceiling(99 * GIB, 99.0), held=away)) is None
