"""Roles as pure decisions: what holds for every standing, action and subject."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.roles import SITE, Action, Role, Standing, Subject, may

numbers = st.frozensets(st.integers(1, 4), max_size=4)
standings = st.builds(Standing, st.booleans(), numbers, numbers, numbers, numbers)
shared = st.builds(Subject, st.integers(1, 4), st.integers(1, 4), st.just(False))
personal = st.builds(Subject, st.none(), st.integers(1, 4), st.just(True))
subjects = st.one_of(shared, personal, st.just(SITE), st.builds(Subject, st.integers(1, 4)))
actions = st.sampled_from(Action)


@given(standings, actions, subjects, st.integers(1, 4))
def test_no_role_takes_a_right_away(standing: Standing, action: Action, subject: Subject, number: int) -> None:
    more = [
        replace(standing, admin=True),
        *(
            replace(standing, **{name: getattr(standing, name) | {number}})
            for name in ("lab_leads", "project_leads", "projects", "labs")
        ),
    ]
    if may(standing, action, subject):
        assert all(may(each, action, subject) for each in more)


@given(actions, subjects)
def test_who_has_no_standing_may_nothing(action: Action, subject: Subject) -> None:
    assert not may(Standing(), action, subject)


@given(standings, actions, personal)
def test_a_personal_project_is_its_owners_alone(standing: Standing, action: Action, subject: Subject) -> None:
    allowed = may(standing, action, subject)
    own = subject.project_id in standing.projects
    assert allowed == (own and action in {Action.SEE_PROJECT, Action.WORK_IN_PROJECT})


@given(standings, shared)
def test_nobody_works_in_a_project_without_being_in_it(standing: Standing, subject: Subject) -> None:
    assert may(standing, Action.WORK_IN_PROJECT, subject) == (subject.project_id in standing.projects)


@given(standings, actions, shared)
def test_a_foreign_project_of_a_foreign_lab_is_out_of_reach(
    standing: Standing, action: Action, subject: Subject
) -> None:
    away = Standing(
        False,
        standing.lab_leads - {subject.lab_id},
        standing.project_leads - {subject.project_id},
        standing.projects - {subject.project_id},
        standing.labs - {subject.lab_id},
    )
    assert not may(away, action, subject)


def test_what_each_role_may_in_its_own() -> None:
    project = Subject(1, 1)
    member = Standing(projects=frozenset({1}))
    lead = Standing(project_leads=frozenset({1}), projects=frozenset({1}), labs=frozenset({1}))
    lab_lead, admin = Standing(lab_leads=frozenset({1})), Standing(admin=True)

    def allowed(standing: Standing) -> set[Action]:
        return {action for action in Action if may(standing, action, project)}

    works = {Action.SEE_PROJECT, Action.WORK_IN_PROJECT}
    leads = {Action.SEE_PROJECT, Action.CHANGE_PROJECT, Action.MANAGE_MEMBERS, Action.SEE_LAB}
    assert allowed(member) == works
    assert allowed(lead) == works | leads
    of_the_lab = {Action.CHANGE_LAB, Action.CREATE_PROJECT, Action.ARCHIVE_PROJECT, Action.DIVIDE_GPUS}
    assert allowed(lab_lead) == leads | of_the_lab
    assert allowed(admin) == set(Action) - {Action.WORK_IN_PROJECT}
    roles = [each.role for each in (member, lead, lab_lead, admin)]
    assert roles == [Role.RESEARCHER, Role.LEAD, Role.LEAD, Role.ADMIN]
