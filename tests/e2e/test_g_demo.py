"""`bancada demo` from nothing to its removal, in a real browser: no engine, no card, nothing left behind."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.hub.console.browser import check

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PREPARED_MS, STARTED_MS = 120_000, 60_000


def bancada(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}
    command = [sys.executable, "-m", "bancada.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def demo(run_directory: Path) -> Iterator[tuple[str, Path]]:
    data = run_directory / "demo"
    made = bancada("demo", "--data", str(data), "--json")
    assert made.returncode == 0, made.stderr
    said = json.loads(made.stdout)
    assert said["data"] == str(data)
    yield said["url"], data
    gone = bancada("demo", "--data", str(data), "--remove", "--json")
    assert gone.returncode == 0, gone.stderr
    assert not data.exists()
    left = [each.pid for each in psutil.process_iter() if str(data) in " ".join(_words(each))]
    assert left == []


def _words(process: psutil.Process) -> list[str]:
    try:
        return [*process.cmdline(), *process.environ().values()]
    except psutil.Error:
        return []


@pytest.fixture
def visitor(browser: Browser, demo: tuple[str, Path]) -> Iterator[Page]:
    context = browser.new_context(base_url=demo[0], locale="en-GB", viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def enter(page: Page, name: str) -> None:
    page.goto("/")
    page.get_by_role("button", name=f"{name}:").click()
    expect(page.get_by_role("heading", name="Work", level=1)).to_be_visible()


def test_ana_works_with_one_click_and_sees_a_queue_that_moves(visitor: Page) -> None:
    visitor.goto("/")
    check(visitor, "demo-login")
    enter(visitor, "Ana")
    card = visitor.locator("#project-vision")
    card.get_by_role("button", name="Start", exact=True).click()
    expect(card.get_by_role("link", name="Open")).to_be_visible(timeout=STARTED_MS)
    visitor.goto("/services/bancada/gpus")
    expect(visitor.locator("main")).to_contain_text("4 simulated cards: they compute nothing.")
    held = visitor.locator("main table").first.inner_text()

    def moved() -> bool:
        visitor.reload()
        return visitor.locator("main table").first.inner_text() != held

    visitor.wait_for_function("() => document.readyState === 'complete'")
    for _ in range(60):
        if moved():
            break
        visitor.wait_for_timeout(2_000)
    assert moved(), "the crowd has given a card back, or asked for one"
    visitor.goto("/services/bancada/")
    card.get_by_role("button", name="Stop").click()
    expect(card.get_by_role("button", name="Start", exact=True)).to_be_enabled(timeout=STARTED_MS)


def test_what_was_real_is_said_in_both_languages(visitor: Page) -> None:
    enter(visitor, "Inês")
    visitor.get_by_role("link", name="What was real?").click()
    expect(visitor.get_by_role("heading", level=1)).to_have_text("What was real?")
    expect(visitor.get_by_role("row")).to_have_count(10)
    check(visitor, "demo-real")
    visitor.get_by_role("button", name="Português").click()
    expect(visitor.get_by_role("heading", level=1)).to_have_text("O que era real?")


def test_lia_tries_a_change_of_shares(visitor: Page) -> None:
    enter(visitor, "Lia")
    visitor.goto("/services/bancada/lab/demo")
    card = visitor.locator("#project-vision")
    card.get_by_label("GPUs of Vision", exact=True).press("Enter")
    fold = card.locator("#gpus-fold-vision")
    fold.get_by_label("Guaranteed", exact=True).fill("3")
    fold.get_by_role("button", name="Preview").press("Enter")
    expect(fold.locator("output")).to_contain_text("Nothing was changed.")


def test_a_second_run_goes_on_and_another_sites_folder_is_refused(demo: tuple[str, Path], tmp_path: Path) -> None:
    again = bancada("demo", "--data", str(demo[1]), "--json")
    assert (again.returncode, json.loads(again.stdout)["url"]) == (0, demo[0]), again.stderr
    (tmp_path / "mine.txt").write_text("mine")
    for words in ((), ("--remove",)):
        refused = bancada("demo", "--data", str(tmp_path), *words)
        assert refused.returncode == 1
        assert "is not a demo's folder." in refused.stderr
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert bancada("demo", "--data", str(tmp_path / "none"), "--remove").stdout.startswith("There is no demo at")
