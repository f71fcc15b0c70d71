"""What the tests with a real Chromium share: signing in, pictures, and the check of accessibility."""

import os
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.hub.console.running import PASSWORD

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


def sign_in(page: Page, name: str = "ana", password: str = PASSWORD) -> None:
    page.goto("/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/services/bancada/**")


def shoot(page: Page, name: str) -> None:
    """Keep a picture where BANCADA_TEST_PICTURES says, for people to look at."""
    folder = os.environ.get("BANCADA_TEST_PICTURES")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def check(page: Page, name: str) -> None:
    """No accessibility violation, in light, dark and with more contrast."""
    for scheme, contrast in (
        ("light", "no-preference"),
        ("dark", "no-preference"),
        ("light", "more"),
        ("dark", "more"),
    ):
        page.emulate_media(color_scheme=scheme, contrast=contrast)  # type: ignore[arg-type]
        shoot(page, f"{name}-{scheme}{'-contrast' if contrast == 'more' else ''}")
        found = Axe().run(page)
        assert found.violations_count == 0, f"{name}, {scheme}, {contrast}: {found.generate_report()}"
    page.emulate_media(color_scheme="light", contrast="no-preference")
