"""Text that is code, in every field that somebody else is shown, in a real Chromium (issue 3, bad input)."""

import pytest
from playwright.sync_api import Page

from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.projects.labs import add_lab_lead, change_lab, create_lab
from bancada_hub.projects.projects import NewProject, add_member, change_project, create_project
from bancada_hub.roles import Actor
from bancada_hub.store.notices import NewNotice, tell
from bancada_hub.store.people import find_person
from tests.hub.console.browser import sign_in
from tests.hub.console.running import PASSWORD, RunningSite

pytestmark = pytest.mark.browser

LINE = Actor.command_line()
TEXTS = {
    "script": "<script>document.title='ran'</script>",
    "image": '"><img src=x onerror="document.title=\'ran\'">',
    "handler": "' autofocus onfocus=document.title='ran' x='",
    "templates": "{{7*7}} ${7*7} <%= 7*7 %> %(x)s {0} #{7*7}",
    "markdown": "[a](javascript:document.title='ran') **b** `c` <b>d</b>",
    "entities": "&lt;b&gt; &amp; </title></textarea></style>",
    "right to left": "שלום עולם العربية",
    "joined": "a\u200db\u200cc \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "wide": "W" * 80,
    "combining": "Z" + "\u0301" * 60,
}
TOO_WIDE = """document.documentElement.scrollWidth <= window.innerWidth ? [] :
  [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > window.innerWidth)
    .map((each) => `${each.tagName} ${each.className} ${each.textContent.trim().slice(0, 40)}`)"""

READER = "nina"
"""Leads all of the labs and projects, and has the notices."""

EACH = {READER: ("lab/{}",), "admin": ("lab/{}", "lab/{}/granted", "site/audit?subject=lab:{}")}
ALL = {READER: ("", "profile", "gpus", "storage"), "admin": ("site", "site/people", "site/labs", "site/audit")}
"""Pages below the console's address: those of one lab, and those that show all."""


def slug_of(what: str) -> str:
    return f"code-{list(TEXTS).index(what)}"


@pytest.fixture(scope="module")
def texts(running: RunningSite) -> None:
    """Put each text into the titles of a lab and a project, a person's name and a notice; one replaces another."""
    store, site = running.store, running.installation.site
    add_account(store, site, LINE, NewAccount(READER, False, PASSWORD, display_name=TEXTS["image"], must_change=False))
    for what, text in TEXTS.items():
        slug = slug_of(what)
        create_lab(store, LINE, slug, "Before")
        change_lab(store, LINE, slug, text)
        create_project(store, site, LINE, NewProject(slug, "Before", slug))
        change_project(store, LINE, slug, 1, text)
        add_account(store, site, LINE, NewAccount(slug, False, PASSWORD, (slug,), text, must_change=False))
        add_member(store, LINE, slug, READER, lead=True)
        add_lab_lead(store, LINE, slug, READER)
        with store.write() as session:
            reader = find_person(session, READER)
            assert reader is not None
            tell(session, LINE, [reader.id], NewNotice(text))


def look(page: Page, address: str) -> str:
    """Return the text of a page on which nothing ran and nothing is out of its place."""
    page.goto(f"/services/bancada/{address}")
    assert "ran" not in page.title().split(), address
    assert page.locator("img[src=x], main b, main [onfocus], main a[href^='javascript:']").count() == 0, address
    assert page.evaluate(TOO_WIDE) == [], f"{address} is too wide"
    return str(page.locator("main").evaluate("each => each.textContent"))


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("name", [READER, "admin"])
def test_it_is_text_and_stays_in_its_place(page: Page, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    sign_in(page, name)
    for what, text in TEXTS.items():
        for address in EACH[name]:
            assert text in look(page, address.format(slug_of(what))), (address, what)
    shown = "".join(look(page, address) for address in ALL[name])
    assert [what for what, text in TEXTS.items() if text not in shown] == []
    assert dialogs == []
