"""What people are told of changes to their labs, projects and accounts, and in which language."""

from bancada_hub.amounts import Bytes, Cores
from bancada_hub.errors import joined, told
from bancada_hub.people.accounts import reset_password
from bancada_hub.projects import labs as in_labs
from bancada_hub.projects import projects as in_projects
from bancada_hub.projects.limits import change_project_limits
from bancada_hub.store import notices, people, projects
from bancada_hub.ui import language
from tests.hub.domain import ROOT, Town


def told_to(town: Town, name: str, tongue: str = "en") -> list[str]:
    """Return what a person has not seen, in a language."""
    with town.store.read() as session:
        person = people.find_person(session, name)
        assert person is not None
        found = notices.unseen_notices(session, person.id)
    return [language.words(tongue).gettext(notice.text) for notice in found]


def seen_by(town: Town, name: str) -> None:
    with town.store.write() as session:
        person = people.find_person(session, name)
        assert person is not None
        notices.mark_notices_seen(session, person.id, 10**9)


def fresh(town: Town) -> None:
    for name in ("lia", "ana", "eva"):
        seen_by(town, name)


def test_who_is_added_and_removed_is_told_and_who_did_it_is_not(town: Town) -> None:
    fresh(town)
    lia = town.actor("lia")
    in_projects.add_member(town.store, lia, "wheat", "eva")
    in_projects.add_member(town.store, lia, "wheat", "eva")
    title = town.project("wheat").title
    assert told_to(town, "eva") == [f"You are in the project “{title}” now."], "once, though added twice"
    in_projects.remove_member(town.store, lia, "wheat", "eva")
    assert told_to(town, "eva")[1].startswith(f"You are no longer in the project “{title}”. Your files stay there")
    assert told_to(town, "lia") == []
    assert told_to(town, "ana") == []


def test_a_notice_is_said_in_the_language_of_whoever_reads_it(town: Town) -> None:
    fresh(town)
    in_projects.add_member(town.store, ROOT, "wheat", "eva", lead=True)
    title = town.project("wheat").title
    assert told_to(town, "eva", "pt_BR") == [f"Agora você está no projeto “{title}”, na coordenação."]


def test_sentences_and_amounts_inside_a_notice_keep_their_language(town: Town) -> None:
    fresh(town)
    inner = told("%(n)d s", n=5)
    sentence = told("%(time)s ago", time=joined(inner, told("x %(a)s %(b)s", a=Bytes(3 * 2**29), b=Cores(1.5))))
    with town.store.write() as session:
        notices.add_notice(session, town.actor("ana").person_id or 0, notices.NewNotice(sentence))
    assert told_to(town, "ana") == ["5 s x 1.5 GiB 1.5 ago"]
    assert told_to(town, "ana", "pt_BR") == ["há 5 s x 1,5 GiB 1,5"]


def test_leads_are_told_when_they_lead_no_longer_and_when_somebody_leaves(town: Town) -> None:
    in_projects.add_member(town.store, ROOT, "wheat", "eva", lead=True)
    fresh(town)
    title = town.project("wheat").title
    in_projects.set_lead(town.store, town.actor("lia"), "wheat", "eva", lead=False)
    in_projects.set_lead(town.store, town.actor("lia"), "wheat", "eva", lead=False)
    in_projects.add_member(town.store, town.actor("lia"), "wheat", "eva", lead=True)
    assert told_to(town, "eva") == [
        f"You no longer lead the project “{title}”.",
        f"You lead the project “{title}” now.",
    ]
    fresh(town)
    in_projects.remove_member(town.store, town.actor("ana"), "wheat", "ana")
    assert told_to(town, "lia") == [f"ana left the project “{title}”."]
    assert told_to(town, "ana") == []


def test_members_are_told_that_their_project_is_archived_and_opened(town: Town) -> None:
    fresh(town)
    in_projects.archive_project(town.store, town.actor("lia"), "wheat")
    in_projects.archive_project(town.store, town.actor("lia"), "wheat", archived=False)
    archived, opened = told_to(town, "ana")
    assert "is archived: nothing new starts in it" in archived
    assert opened.endswith("is open again.")
    assert told_to(town, "eva") == [], "she is not in it"


def test_members_are_told_that_their_servers_will_reach_less(town: Town) -> None:
    fresh(town)
    lia, title = town.actor("lia"), town.project("wheat").title
    for version, egress in ((1, "none"), (2, "none"), (3, "open")):
        limits = projects.ProjectLimits(2**30, 1.0, egress)  # type: ignore[arg-type]
        change_project_limits(town.store, lia, "wheat", version, limits)
    assert told_to(town, "ana") == [
        f"From its next start on, what you run in “{title}” reaches nothing outside.",
        f"From its next start on, what you run in “{title}” reaches the network outside.",
    ]
    assert told_to(town, "lia") == []


def test_leads_of_a_lab_are_told(town: Town) -> None:
    fresh(town)
    in_labs.add_lab_lead(town.store, ROOT, "plants", "eva")
    in_labs.add_lab_lead(town.store, ROOT, "plants", "eva")
    in_labs.remove_lab_lead(town.store, ROOT, "plants", "eva")
    assert told_to(town, "eva") == [
        "You lead the lab “Plants” now, and all its projects.",
        "You no longer lead the lab “Plants”.",
    ]


def test_a_password_that_somebody_else_reset_is_told(town: Town) -> None:
    fresh(town)
    reset_password(town.store, ROOT, "ana")
    assert told_to(town, "ana")[0].startswith("An administrator gave your account a new password.")


def test_a_refused_change_tells_nobody(town: Town) -> None:
    fresh(town)
    for attempt in (
        lambda: in_projects.add_member(town.store, town.actor("ana"), "wheat", "eva"),
        lambda: in_projects.remove_member(town.store, town.actor("ana"), "wheat", "lia"),
    ):
        try:
            attempt()
        except in_projects.PeopleError:
            continue
        raise AssertionError("it was not refused")
    assert [told_to(town, name) for name in ("lia", "ana", "eva")] == [[], [], []]
