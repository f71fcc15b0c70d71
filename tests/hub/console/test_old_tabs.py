"""Pages that were opened before an upgrade or before signing in elsewhere (issue 3, bad input; D8)."""

import pytest

from tests.hub.console.running import Browser, RunningSite, hidden

CHANGE = "/services/bancada/api/projects/optics/change"


@pytest.fixture
def bia(running: RunningSite) -> Browser:
    browser = Browser(running)
    assert browser.sign_in("bia").status_code == 200
    return browser


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"title": "Optics", "version": "1", "colour": "red"}, "There is no field “colour” here."),
        ({"title": "Optics"}, "The field “version” is missing."),
    ],
)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_a_form_of_another_release_is_told_to_reload_and_changes_nothing(
    bia: Browser, form: dict[str, str], said: str, accept: str
) -> None:
    """Its script says it beside the form, where what was typed still stands."""
    token = hidden(bia.get("/services/bancada/lab/light").text, "data-keep")
    reply = bia.post(CHANGE, data={**form, "_xsrf": token}, headers={"Accept": accept})
    assert reply.status_code == 400
    assert said in reply.text
    assert "Reload the page and try again." in reply.text


def test_a_tab_from_before_signing_in_elsewhere_is_told_to_reload(bia: Browser) -> None:
    """D8: the token of the page belongs to a session that is no more; after a reload it works."""
    page = "/services/bancada/lab/light"
    before = hidden(bia.get(page).text, "data-keep")
    bia.cookies.clear()
    assert bia.sign_in("bia").status_code == 200
    form = {"title": " ", "version": "1"}
    stale = bia.post(CHANGE, data={**form, "_xsrf": before})
    assert stale.status_code == 403
    assert "Reload the page and try again." in stale.text
    again = bia.post(CHANGE, data={**form, "_xsrf": hidden(bia.get(page).text, "data-keep")})
    assert "The text is empty." in again.text, "it came as far as the title"


@pytest.mark.parametrize(
    "body",
    [
        {"image": "secret/image"},
        {"image": "evil/x", "kind": "work"},
        {"kind": 1},
        {"kind": ["work"]},
        {"size": {"l": 1}},
        {"project": "secret"},
        {"user": "rui"},
        {"language": "tlh"},
    ],
)
def test_options_that_nobody_offers_start_nothing(bia: Browser, body: dict[str, object]) -> None:
    """D3: unknown keys, wrong types, another project's image."""
    assert bia.api("POST", "projects/optics/start", json=body).status_code == 400
    assert bia.api("GET", "projects/optics/server").json()["state"] == "stopped"
