"""Limits of labs and projects: who sets them, what is refused, and what is left on record."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.errors import Forbidden, NotFound, PeopleError, StaleVersion
from bancada_hub.projects.limits import change_lab_limits, change_project_limits, cpu_limit, memory_limit
from bancada_hub.projects.projects import change_project
from bancada_hub.store import labs, projects
from bancada_hub.store.granted import Wanted, grants
from bancada_hub.store.labs import LabLimits
from bancada_hub.store.projects import ProjectLimits
from tests.hub.domain import ROOT, Town

GIB = 1024**3
SMALL = ProjectLimits(8 * GIB, 4.0, "mirror")


def lab(town: Town) -> labs.Lab:
    with town.store.read() as session:
        found = labs.find_lab(session, "plants")
    assert found is not None
    return found


def test_a_lead_limits_a_project_and_it_is_put_on_record(town: Town) -> None:
    version = town.project("wheat").version
    changed = change_project_limits(town.store, town.actor("lia"), "wheat", version, SMALL)
    assert (changed.limits, changed.version) == (SMALL, version + 1)
    (row,) = town.audited(action="project.limits")
    assert (row.actor, row.subject, row.result, row.detail["max_cpus"]) == ("lia", "project:wheat", "done", 4.0)
    assert (row.detail["egress_before"], row.detail["egress"]) == ("open", "mirror")
    with town.store.read() as session:
        entry = grants(session, Wanted(project_ids=(changed.id,)))[0]
    assert (entry.kind, entry.detail["max_memory_bytes"]) == ("limits.changed", 8 * GIB)


def test_members_and_strangers_do_not(town: Town) -> None:
    for name, error in (("ana", Forbidden), ("eva", NotFound)):
        with pytest.raises(error):
            change_project_limits(town.store, town.actor(name), "wheat", 1, SMALL)
    with pytest.raises(Forbidden):  # the lab's are the administrators' to set
        change_lab_limits(town.store, town.actor("lia"), "plants", lab(town).version, LabLimits(GIB, 1.0))
    assert town.project("wheat").limits == ProjectLimits()
    assert [row.result for row in town.audited(action="lab.limits")] == ["refused"]


def test_no_project_is_above_its_lab_though_their_sum_may_be(town: Town) -> None:
    change_lab_limits(town.store, ROOT, "plants", lab(town).version, LabLimits(16 * GIB, 8.0))
    for slug in ("wheat", "rye"):
        change_project_limits(town.store, ROOT, slug, town.project(slug).version, ProjectLimits(16 * GIB, 8.0))
    for limits, said in (
        (ProjectLimits(16 * GIB + 1, None), "may hold 16.0 GiB of memory together"),
        (ProjectLimits(None, 8.5), "may hold 8 cores together"),
    ):
        with pytest.raises(PeopleError, match=said):
            change_project_limits(town.store, ROOT, "wheat", town.project("wheat").version, limits)
    with pytest.raises(PeopleError, match=r"may hold 16\.0 GiB of memory, which is more"):
        change_lab_limits(town.store, ROOT, "plants", lab(town).version, LabLimits(8 * GIB, None))
    assert lab(town).limits == LabLimits(16 * GIB, 8.0)


def test_of_two_who_limit_the_same_the_second_is_told(town: Town) -> None:
    version = town.project("wheat").version
    change_project(town.store, town.actor("lia"), "wheat", version, "Winter wheat")
    with pytest.raises(StaleVersion, match="lia changed this project"):
        change_project_limits(town.store, ROOT, "wheat", version, SMALL)
    change_project_limits(town.store, ROOT, "wheat", version + 1, SMALL)
    with pytest.raises(StaleVersion):  # and the other way round
        change_project(town.store, ROOT, "wheat", version + 1, "Wheat")
    before = lab(town).version
    change_lab_limits(town.store, ROOT, "plants", before, LabLimits(GIB * 16, None))
    with pytest.raises(StaleVersion, match="changed this lab at"):
        change_lab_limits(town.store, ROOT, "plants", before, LabLimits())


def test_a_personal_project_has_no_limits_of_its_own(town: Town) -> None:
    person = town.add("bia")
    with town.store.read() as session:
        (personal,) = projects.projects_of(session, person.id)
    with pytest.raises(PeopleError):
        change_project_limits(town.store, town.actor("bia"), personal.slug, personal.version, SMALL)


@given(st.floats())
def test_a_limit_is_an_amount_that_can_be(number: float) -> None:
    for limit, least, unit in ((memory_limit, 0.25, GIB), (cpu_limit, 0.1, 1)):
        if math.isfinite(number) and least <= number <= 65_536:
            found = limit(number)
            assert found is not None
            assert math.isclose(found, number * unit, abs_tol=1)
        elif not (math.isfinite(number) and 65_536 < number <= 1_048_576):
            with pytest.raises(PeopleError, match="not possible"):
                limit(number)
    assert memory_limit(None) is None
    assert cpu_limit(None) is None
