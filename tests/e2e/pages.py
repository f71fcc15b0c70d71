"""What a person does in the browser, in their words: sign in, start, open, run a cell, stop."""

import contextlib
import itertools
import re

from playwright.sync_api import Error, Locator, Page, expect

from tests.e2e.site import Site

STARTED_MS = 150_000
OPENED_MS = 120_000
RAN_MS = 120_000
SOON_MS = 3_000
STOPPED_MS = 60_000
_ends = itertools.count(1)


def sign_in(page: Page, site: Site, name: str) -> None:
    """Sign in, and end on Work."""
    page.goto(site.url)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(site.passwords[name])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Work", level=1)).to_be_visible(timeout=OPENED_MS)


def card(page: Page, title: str) -> Locator:
    """Return the card of a project on Work."""
    return page.locator("section.card").filter(has=page.get_by_role("heading", name=title, exact=True))


def start_project(page: Page, site: Site, title: str) -> None:
    """Press Start, and wait until Open is there."""
    page.goto(f"{site.url}services/bancada/")
    card(page, title).get_by_role("button", name="Start", exact=True).click()
    expect(card(page, title).get_by_role("link", name="Open")).to_be_visible(timeout=STARTED_MS)


def stop_project(page: Page, site: Site, title: str) -> None:
    """Press Stop, and wait until Start is there again."""
    page.goto(f"{site.url}services/bancada/")
    card(page, title).get_by_role("button", name="Stop").click()
    expect(card(page, title).get_by_role("button", name="Start", exact=True)).to_be_enabled(timeout=STOPPED_MS)


def reset_environment(page: Page, site: Site, title: str) -> None:
    """Throw away what was installed in a stopped project."""
    page.goto(f"{site.url}services/bancada/")
    card(page, title).get_by_text("Reset environment").click()
    with page.expect_response(lambda answer: answer.url.endswith("/reset")) as answered:
        card(page, title).get_by_role("button", name="Throw changes away").click()
    assert answered.value.ok, answered.value.text()


def open_lab(page: Page, site: Site, title: str, *, fresh: bool = True) -> None:
    """Press Open, and wait for JupyterLab; `fresh` puts away the tabs that it brings back from the last time."""
    page.goto(f"{site.url}services/bancada/")
    card(page, title).get_by_role("link", name="Open").click()
    wait_for_lab(page)
    if fresh:
        page.goto(re.sub(r"/lab\b.*", "/lab?reset", page.url))
        wait_for_lab(page)


def wait_for_lab(page: Page) -> None:
    """Return when JupyterLab has come up."""
    expect(page.locator("#jp-main-dock-panel")).to_be_visible(timeout=OPENED_MS)
    expect(page.locator("#jupyterlab-splash")).to_have_count(0, timeout=OPENED_MS)


def new_notebook(page: Page, folder: str) -> None:
    """Make a notebook in one of the places of the file browser, and wait for its kernel."""
    enter_folder(page, folder)
    page.locator(".jp-FileBrowser").get_by_title(re.compile("New Launcher")).click()
    page.locator(".jp-Launcher:visible .jp-LauncherCard[data-category='Notebook']").first.click()
    wait_for_kernel(page)


def wait_for_kernel(page: Page) -> None:
    """Return when the notebook in front has a kernel that does nothing: the status bar says so last of all."""
    expect(notebook(page)).to_be_visible(timeout=OPENED_MS)
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle", timeout=OPENED_MS)


def enter_folder(page: Page, folder: str) -> None:
    """Go to a place of the file browser; JupyterLab goes where a person was last, at a moment of its own."""
    items = page.locator(".jp-DirListing-item")
    entered = page.locator(".jp-BreadCrumbs").filter(has_text=re.compile(rf"{folder} ?/\s*$"))
    while not is_soon(entered):
        page.locator(".jp-BreadCrumbs-home").click()
        with contextlib.suppress(Error):
            items.filter(has_text=re.compile(rf"^\s*{folder}")).dblclick(timeout=SOON_MS)


def is_soon(place: Locator) -> bool:
    """Say whether something is to be seen within a few seconds."""
    try:
        expect(place).to_be_visible(timeout=SOON_MS)
    except AssertionError:
        return False
    return True


def open_notebook(page: Page, folder: str, name: str) -> None:
    """Open a notebook that is there."""
    enter_folder(page, folder)
    page.locator(".jp-DirListing-item").filter(has_text=name).dblclick()
    wait_for_kernel(page)


def notebook(page: Page) -> Locator:
    """Return the notebook in front."""
    return page.locator(".jp-NotebookPanel:visible .jp-Notebook")


def run_cell(page: Page, code: str) -> str:
    """Run code in the last cell, and return what it printed or raised.

    The kernel's own indicators say idle too early, so the code is made to print its end, and is sent again when
    JupyterLab let it drop.
    """
    end = f"end-of-cell-{next(_ends)}"
    place = notebook(page).locator(".jp-CodeCell").count() - 1
    cell = notebook(page).locator(".jp-CodeCell").nth(place)
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(f"{code}\nprint('{end[:4]}' + '{end[4:]}')")
    page.keyboard.press("Shift+Enter")
    while not is_taken(cell):
        cell.locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
    output = cell.locator(".jp-OutputArea")
    over = output.filter(has_text=re.compile(rf"{end}|Traceback \(most recent call last\)"))
    expect(over).to_be_visible(timeout=RAN_MS)
    return output.inner_text().replace(end, "").strip()


def show_cell(page: Page, code: str, output: str) -> None:
    """Run code in the last cell exactly as it is given, for a picture, and wait for what it prints."""
    place = notebook(page).locator(".jp-CodeCell").count() - 1
    cell = notebook(page).locator(".jp-CodeCell").nth(place)
    cell.locator(".cm-content").click()
    page.keyboard.insert_text(code)
    page.keyboard.press("Shift+Enter")
    expect(cell.locator(".jp-OutputArea")).to_contain_text(output, timeout=RAN_MS)


def is_taken(cell: Locator) -> bool:
    """Say whether the kernel has, or had, this cell."""
    try:
        expect(cell.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[(\d+|\*)\]"), timeout=SOON_MS)
    except AssertionError:
        return False
    return True


def restart_kernel(page: Page) -> None:
    """Restart the kernel of the notebook in front, and wait until it answers."""
    page.locator(".jp-NotebookPanel:visible").get_by_title(re.compile("Restart the kernel$")).first.click()
    page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    wait_for_kernel(page)


def save(page: Page) -> None:
    """Save the notebook in front, under its first name."""
    page.keyboard.press("Control+s")
    rename = page.locator(".jp-Dialog .jp-mod-accept")
    saved = page.locator(".lm-DockPanel-tabBar .lm-mod-current:not(.jp-mod-dirty)")
    expect(rename.or_(saved).first).to_be_visible()
    if rename.is_visible():
        rename.click()
    expect(saved.first).to_be_visible()
