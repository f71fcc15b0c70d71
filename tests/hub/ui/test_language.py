"""Words in two languages: nothing missing, nothing unused, nothing untranslated."""

import re
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from bancada_hub.ui import language
from tests.hub.ui import messages

SAME_IN_BOTH = {"Site", "Tokens", "GPU", "GPUs", "Snapshots", "%(n)d s", "%(n)d min", "%(n)d h"}
SAME_IN_BOTH |= {"%(n)d notebook", "%(n)d notebooks", "%(n)d terminal"}
NAMES = {
    "EN",
    "PT",
    "Python",
    "CPU",
    "Bancada",
    "·",
    ":",
    ",",
    ".",
    "./bancada up",
    "./bancada user add NAME",
    "pip freeze",
}
COMMANDS = re.compile(r"\./bancada [a-z]+( [A-Za-z]+)*")


def test_every_message_has_its_portuguese() -> None:
    used = messages.in_templates() | messages.in_code()
    there = messages.portuguese()
    missing = {message: path.name for message, path in used.items() if not there.get(message)}
    assert missing == {}


def test_no_translation_is_left_over() -> None:
    used = messages.in_templates() | messages.in_code()
    assert [message for message in messages.portuguese() if message not in used] == []


def test_translations_differ_from_their_source_and_keep_its_places() -> None:
    for message, translated in messages.portuguese().items():
        pairs = [(message, translated)] if isinstance(message, str) else list(zip(message, translated, strict=True))
        for source, target in pairs:
            assert source in SAME_IN_BOTH or source != target, source
            assert set(re.findall(r"%\(\w+\)\w", source)) == set(re.findall(r"%\(\w+\)\w", target)), source


@pytest.mark.parametrize("path", list(messages.templates()), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_templates_have_no_bare_words(path: Path) -> None:
    tree = Environment(extensions=["jinja2.ext.i18n"]).parse(path.read_text())
    bare = "".join(data.data for output in tree.find_all(nodes.Output) for data in output.find_all(nodes.TemplateData))
    visible = re.sub(r"<(style|script)\b.*?</\1>", " ", bare, flags=re.DOTALL)
    attributes = re.findall(r'\b(?:aria-label|title|alt|placeholder)="([^"]*)"', visible)
    texts = re.findall(r">([^<>]*)<", f">{visible}<") + attributes
    words = {COMMANDS.sub("", text).strip(" ·:,.()%\n") for text in texts}
    assert {word for word in words if re.search(r"[A-Za-z]{2}", word)} <= NAMES | {"English", "Português"}


@pytest.mark.parametrize(
    ("chosen", "accepted", "expected"),
    [
        ("", "", "en"),
        ("", "pt-BR,pt;q=0.9,en;q=0.8", "pt_BR"),
        ("", "pt-PT", "pt_BR"),
        ("", "de-DE,de;q=0.9", "en"),
        ("", "en;q=0.2,pt;q=0.7", "pt_BR"),
        ("", "pt;q=0,en", "en"),
        ("", "pt;q=high,en", "en"),
        ("en", "pt-BR", "en"),
        ("pt_BR", "en", "pt_BR"),
        ("../../etc", "pt", "pt_BR"),
    ],
)
def test_the_language_is_the_chosen_one_or_the_browsers(chosen: str, accepted: str, expected: str) -> None:
    assert language.choose(chosen, accepted) == expected


def test_an_unknown_language_gets_english() -> None:
    assert language.words("../pt_BR").language == "en"


@pytest.mark.parametrize(
    ("seconds", "english", "portuguese"),
    [
        (0, "0 s", "0 s"),
        (89, "89 s", "89 s"),
        (90, "2 min", "2 min"),
        (5400, "2 h", "2 h"),
        (200_000, "2 days", "2 dias"),
    ],
)
def test_durations(seconds: float, english: str, portuguese: str) -> None:
    assert language.words("en").duration(seconds) == english
    assert language.words("pt_BR").duration(seconds) == portuguese


def test_sizes_have_the_languages_decimal_mark() -> None:
    assert language.words("en").size(13_314_398_618) == "12.4 GiB"
    assert language.words("pt_BR").size(13_314_398_618) == "12,4 GiB"


def test_plurals() -> None:
    words = language.words("pt_BR")
    assert words.ngettext("%(n)d account", "%(n)d accounts", 1) == "1 conta"
    assert words.ngettext("%(n)d account", "%(n)d accounts", 3) == "3 contas"
