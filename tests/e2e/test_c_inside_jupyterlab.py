"""What Bancada adds to JupyterLab, as a person sees it: top bar, status, examples, a notice; and Stop leads back."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from bancada_hub.installation import read_installation
from bancada_hub.people.accounts import NewAccount, add_account
from bancada_hub.roles import Actor
from bancada_hub.store import notices, people
from bancada_hub.store.database import Store, open_store
from tests.e2e.conftest import FirstSite
from tests.e2e.pages import OPENED_MS, open_lab, sign_in, start_project, stop_project, wait_for_kernel

pytestmark = [pytest.mark.engine, pytest.mark.browser, pytest.mark.timeout(1200)]

NAME, PERSONAL = "ines", "Personal"
PASSWORD = "a-bench-by-the-window"
MAINTENANCE = "Maintenance at 18:00: save before."


@pytest.fixture(scope="module")
def store(site: FirstSite) -> Store:
    """The site's database, with a person in it who has signed in before."""
    assert site.first_up.status == 0, f"{site.first_up.text}\n{site.logs()}"
    installation = read_installation(site.data)
    store = open_store(installation.site, installation.places)
    account = NewAccount(NAME, False, PASSWORD, (), must_change=False)
    add_account(store, installation.site, Actor.command_line(), account)
    site.passwords[NAME] = PASSWORD
    return store


def add_notice(store: Store) -> None:
    with store.write() as session:
        person = people.find_person(session, NAME)
        assert person
        new = notices.NewNotice(MAINTENANCE, notices.WARNING, "Go to Work", "/services/bancada/")
        notices.add_notice(session, person.id, new)


def test_jupyterlab_is_part_of_the_site(
    site: FirstSite, store: Store, page: Page, picture: Callable[[Page, str], None]
) -> None:
    sign_in(page, site, NAME)
    start_project(page, site, PERSONAL)
    open_lab(page, site, PERSONAL)
    bar = page.get_by_role("button", name="Personal · Minimal · no GPU")
    expect(bar).to_be_visible(timeout=OPENED_MS)
    expect(page.locator(".bcd-Status")).to_contain_text("Running", timeout=OPENED_MS)

    add_notice(store)
    toast = page.locator(".Toastify__toast").filter(has_text=MAINTENANCE)
    expect(toast).to_be_visible(timeout=OPENED_MS)
    expect(toast.get_by_role("button", name="Go to Work")).to_be_visible()
    picture(page, "lab-notice")

    page.reload()
    expect(page.locator(".bcd-Status")).to_contain_text("Running", timeout=OPENED_MS)
    expect(toast).to_have_count(0)

    example = page.locator(".jp-Launcher:visible .jp-LauncherCard[data-category='Examples']").first
    example.click()
    wait_for_kernel(page)
    expect(page.locator(".jp-BreadCrumbs")).to_contain_text("My files")
    expect(page.locator(".jp-DirListing-item")).to_contain_text("start-here.ipynb")

    bar.click()
    page.get_by_role("menuitem", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("heading", name="Work", level=1)).to_be_visible(timeout=OPENED_MS)


def test_jupyterlab_speaks_portuguese_with_a_portuguese_browser(site: FirstSite, store: Store, page: Page) -> None:
    context = page.context.browser.new_context(locale="pt-BR") if page.context.browser else page.context
    portuguese = context.new_page()
    try:
        portuguese.goto(site.url)
        portuguese.locator("input[name=username]").fill(NAME)
        portuguese.locator("input[name=password]").fill(PASSWORD)
        portuguese.locator("button[type=submit]").first.click()
        portuguese.get_by_role("button", name="Iniciar", exact=True).first.click()
        portuguese.get_by_role("link", name="Abrir").click(timeout=OPENED_MS)
        expect(portuguese.get_by_role("button", name="Personal · Minimal · sem GPU")).to_be_visible(timeout=OPENED_MS)
        expect(portuguese.locator(".bcd-Status")).to_contain_text("Em execução", timeout=OPENED_MS)
    finally:
        portuguese.close()
    sign_in(page, site, NAME)
    stop_project(page, site, PERSONAL)
