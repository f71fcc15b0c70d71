"""Every page in Portuguese, in a real Chromium: no sentence of it is left in English, and it is as accessible."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page

from tests.hub.console.browser import check
from tests.hub.console.running import PASSWORD, RunningSite
from tests.hub.ui.messages import in_code, in_templates, portuguese

pytestmark = pytest.mark.browser

SHOWN = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.replace(/\\s+/g, " ").trim();
    if (text && !parent.closest("[lang=en], script, style, code, .mono")) found.push(text);
  }
  for (const each of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]"))
    for (const name of ["aria-label", "title", "placeholder", "alt"])
      if (each.getAttribute(name)) found.push(each.getAttribute(name).replace(/\\s+/g, " ").trim());
  return found;
}"""
"""The texts of a page that people read or hear, but for what is marked as English or as code."""
TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((each) => !each.closest(".table-frame") && each.getBoundingClientRect().right > 361)
  .map((each) => each.outerHTML.slice(0, 200))"""
LEAST_WORD = re.compile(r"[A-Za-z]{3}")


@pytest.fixture
def page(chromium: Chromium, running: RunningSite) -> Iterator[Page]:
    context = chromium.new_context(base_url=running.url, viewport={"width": 1280, "height": 800}, locale="pt-BR")
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def english() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Each message, as a pattern of its English and one of its Portuguese; those that are alike, or bare, are none."""
    there, found = portuguese(), []
    for message in in_templates() | in_code():
        pairs = [(message, there[message])] if isinstance(message, str) else zip(message, there[message], strict=True)
        for source, target in pairs:
            literal = re.sub(r"%\(\w+\)\w|%%", "", source)
            if LEAST_WORD.search(literal) and source != target:
                found.append((source, _pattern(source), _pattern(str(target))))
    return found


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"%\(\w+\)\w", template.replace("%%", "%"))
    return re.compile(".+".join(re.escape(re.sub(r"\s+", " ", part)) for part in parts).strip())


def left_in_english(texts: list[str], english: list[tuple[str, re.Pattern[str], re.Pattern[str]]]) -> set[str]:
    ours = {text for _, _, target in english for text in texts if target.fullmatch(text)}
    return {text for text in texts for _, source, _ in english if text not in ours and source.fullmatch(text)}


def sign_in(page: Page, name: str) -> None:
    page.goto("/")
    page.get_by_label("Nome").fill(name)
    page.get_by_label("Senha").fill(PASSWORD)
    page.get_by_role("button", name="Entrar").click()
    page.wait_for_url("**/services/bancada/**")


def test_a_sentence_that_is_left_in_english_is_found(
    english: list[tuple[str, re.Pattern[str], re.Pattern[str]]],
) -> None:
    texts = ["Nobody is waiting.", "Ninguém espera.", "Optics", "3 more wait."]
    assert left_in_english(texts, english) == {"Nobody is waiting.", "3 more wait."}


def test_the_page_to_sign_in(page: Page, english: list[tuple[str, re.Pattern[str], re.Pattern[str]]]) -> None:
    page.goto("/")
    assert page.locator("html").get_attribute("lang") == "pt-BR"
    assert left_in_english(page.evaluate(SHOWN), english) == set()
    check(page, "pt-login")


@pytest.mark.parametrize(
    ("person", "path"),
    [
        *(("ana", path) for path in ("", "gpus", "images", "storage", "snapshots", "profile", "nothing-here")),
        *(("leo", path) for path in ("lab/light", "lab/light/granted?project=optics")),
        *(("admin", f"site{part}") for part in ("", "/people", "/labs", "/settings", "/audit", "/doctor")),
        ("ana", "../../hub/nothing-here"),
    ],
)
def test_no_sentence_is_left_in_english(
    page: Page, person: str, path: str, english: list[tuple[str, re.Pattern[str], re.Pattern[str]]]
) -> None:
    sign_in(page, person)
    page.goto(f"/services/bancada/{path}")
    if path == "site/doctor":
        page.get_by_role("button", name="Rodar as verificações").click()
        page.get_by_role("cell", name="database", exact=True).wait_for()
    assert page.locator("html").get_attribute("lang") == "pt-BR"
    assert left_in_english(page.evaluate(SHOWN), english) == set()
    check(page, "pt-" + re.sub(r"\W+", "-", f"{person}-{path}"))
    page.set_viewport_size({"width": 360, "height": 740})
    wide = page.evaluate(TOO_WIDE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, wide
