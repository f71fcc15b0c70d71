"""Signing in through the hub, and what is said when that does not work."""

import re

import requests

from tests.hub.console.running import PASSWORD, Browser, RunningSite, disable


def test_the_root_leads_through_the_sign_in_form_to_work(running: RunningSite) -> None:
    browser = Browser(running)
    form = browser.get("/")
    assert form.url.startswith(running.url + "/hub/login")
    assert "<h1>Sign in</h1>" in form.text
    page = browser.sign_in("ana")
    assert page.url == running.url + "/services/bancada/"
    assert re.findall(r"<h2>(.*?)</h2>", page.text) == ["Broken mirror", "Optics", "Slow light", "Personal"]


def test_a_wrong_password_is_told_in_words(running: RunningSite) -> None:
    page = Browser(running).sign_in("ana", "wrong-horse-battery")
    assert page.status_code == 403
    assert "This name and password do not belong together." in page.text
    assert 'value="ana"' in page.text


def test_the_sign_in_form_speaks_the_browsers_language_and_obeys_the_cookie(running: RunningSite) -> None:
    browser = Browser(running)
    browser.headers["Accept-Language"] = "pt-BR,pt;q=0.9,en;q=0.5"
    assert "<h1>Entrar</h1>" in browser.get("/hub/login").text
    browser.cookies.set("bancada-language", "en", path="/")
    browser.cookies.set("bancada-theme", "dark", path="/")
    page = browser.get("/hub/login").text
    assert '<html lang="en" data-theme="dark">' in page
    assert "<h1>Sign in</h1>" in page


def test_the_sign_in_page_needs_no_file_of_the_console(running: RunningSite) -> None:
    page = Browser(running).get("/hub/login").text
    assert "--accent:" in page
    assert not re.search(r"<(link|script)[^>]+(href|src)=", page)


def test_signing_out_ends_the_consoles_session_too(ana: Browser) -> None:
    ana.get("/hub/logout")
    page = ana.get("/services/bancada/")
    assert page.url.startswith(ana.site.url + "/hub/login")


def test_a_disabled_account_sees_a_clear_page_and_can_do_nothing(running: RunningSite) -> None:
    browser = Browser(running)
    assert browser.sign_in("off").status_code == 200
    disable(running.store, "off")
    page = browser.get("/services/bancada/")
    assert page.status_code == 403
    assert "Your account is switched off on this site" in page.text
    assert "Ask the person who runs this site." in page.text


def test_a_sign_in_that_was_not_begun_here_is_told_in_words(running: RunningSite) -> None:
    page = Browser(running).get("/services/bancada/oauth_callback?code=1&state=2")
    assert page.status_code == 409
    assert "Signing in was not finished" in page.text


def test_a_program_without_a_session_gets_401_as_json(running: RunningSite) -> None:
    reply = requests.get(running.url + "/services/bancada/api/projects", timeout=30)
    assert reply.status_code == 401
    assert reply.json() == {"status": 401, "message": "You are signed out.", "fix": "Reload the page and sign in."}


def test_a_persons_own_token_works_without_xsrf(ana: Browser) -> None:
    token_page = ana.get("/hub/token")
    assert "<h1>Tokens</h1>" in token_page.text
    xsrf = token_page.text.split('data-xsrf="', 1)[1].split('"', 1)[0]
    made = ana.post(
        "/hub/api/users/ana/tokens",
        json={"note": "script", "expires_in": 600},
        headers={"X-XSRFToken": xsrf, "Referer": ana.site.url},
    )
    assert made.status_code == 201, made.text
    headers = {"Authorization": f"token {made.json()['token']}"}
    reply = requests.get(ana.site.url + "/services/bancada/api/projects", headers=headers, timeout=30)
    assert [project["slug"] for project in reply.json()["projects"]][:3] == ["broken", "optics", "slow"]
    refused = requests.post(reply.url + "/optics/start", json={"kind": "odd"}, headers=headers, timeout=30)
    assert refused.status_code == 400, "it is let in as far as the check of the body"


def test_the_hubs_own_pages_lead_to_work(ana: Browser) -> None:
    for path in ("/hub/home", "/hub/spawn", "/hub/spawn/ana", "/hub/spawn/ana/optics"):
        page = ana.get(path)
        assert 'http-equiv="refresh" content="0; url=/services/bancada/"' in page.text, path
    missing = ana.get("/hub/nothing-here")
    assert missing.status_code == 404
    assert "<h1>Nothing here</h1>" in missing.text
    assert PASSWORD not in missing.text
