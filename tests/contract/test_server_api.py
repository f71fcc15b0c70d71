"""What crosses between servers and the site: both sides' shapes, and which releases speak with each other."""

import json
from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from bancada.contract import (
    CONTRACT,
    OLDEST_CONTRACT,
    Activity,
    ContractError,
    KernelActivity,
    ProjectFacts,
    SiteNotice,
    contract_problem,
    parse_activity,
    parse_facts,
    parse_notices,
)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
RELEASES = 4
"""A server of an older release keeps working for this many."""

REPORT = {
    "kernels": [{"busy": True, "last_activity": "2026-11-30T12:00:00+00:00"}],
    "terminals": [{"last_activity": "2026-11-30T09:00:00-03:00"}],
}
"""As servers of contract 1 send it: this text never changes, whatever the newest contract."""


def test_a_report_arrives_as_it_was_sent() -> None:
    sent = Activity((KernelActivity(True, NOW), KernelActivity(False, NOW)), (NOW,), 999)
    assert parse_activity(json.loads(json.dumps(sent.json()))) == sent


def test_a_report_of_the_oldest_contract_is_understood() -> None:
    assert parse_activity(REPORT) == Activity((KernelActivity(True, NOW),), (NOW,))


def test_names_that_are_not_known_yet_are_let_through() -> None:
    assert parse_activity({**REPORT, "cards": []}) == parse_activity(REPORT)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"kernels": []},
        {"kernels": {}, "terminals": []},
        {"kernels": [{"busy": 1, "last_activity": "2026-11-30T12:00:00+00:00"}], "terminals": []},
        {"kernels": [{"busy": True, "last_activity": "2026-11-30T12:00:00"}], "terminals": []},
        {"kernels": [{"busy": True, "last_activity": "yesterday"}], "terminals": []},
        {"kernels": [], "terminals": [{"last_activity": 7}]},
        {"kernels": [], "terminals": [], "cards_error": True},
        {"kernels": [], "terminals": [], "cards_error": "999"},
        {"kernels": [], "terminals": [], "cards_error": 10**9},
        {"kernels": [], "terminals": [{"last_activity": "2026-11-30T12:00:00+00:00"}] * 1001},
    ],
)
def test_a_report_of_another_shape_is_refused(value: object) -> None:
    with pytest.raises(ContractError):
        parse_activity(value)


def test_facts_arrive_as_they_were_sent() -> None:
    facts = ProjectFacts("optics", "Óptica", "Minimal", "0123456789ab")
    assert parse_facts(json.loads(json.dumps(asdict(facts)))) == facts


def test_notices_arrive_as_they_were_sent() -> None:
    notice = SiteNotice(7, "warning", "Maintenance at 18:00.", "Details", "/services/bancada/")
    assert parse_notices(json.loads(json.dumps({"notices": [asdict(notice)]}))) == (notice,)


@pytest.mark.parametrize("url", ["https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere", "javascript:x"])
def test_a_notice_never_leads_elsewhere(url: str) -> None:
    with pytest.raises(ContractError, match="a path of this site"):
        parse_notices({"notices": [asdict(SiteNotice(1, "info", "Look.", "Go", url))]})


def test_the_site_speaks_with_the_last_releases() -> None:
    assert max(1, CONTRACT - RELEASES) >= OLDEST_CONTRACT
    assert [contract_problem(str(number)) for number in range(OLDEST_CONTRACT, CONTRACT + 1)] == [""] * (
        CONTRACT + 1 - OLDEST_CONTRACT
    )


def test_a_server_of_another_release_is_told_so() -> None:
    assert "too old for this site" in contract_problem(str(OLDEST_CONTRACT - 1))
    assert "newer release of Bancada than the site's" in contract_problem(str(CONTRACT + 1))


@pytest.mark.parametrize("header", [None, "", "one", "1.5", "-1", "٣", "1" * 9])
def test_a_header_that_is_no_number_is_told_so(header: str | None) -> None:
    assert contract_problem(header) == "The header X-Bancada-Contract must be a number, such as 1."
