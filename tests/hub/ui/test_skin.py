"""The skin: colours in one place, files that templates can include, pages that cover the hub's own."""

import re
from pathlib import Path

import jupyterhub
import pytest
from jinja2 import Environment
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from bancada_hub.ui import icons, skin

COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(|\boklch\(")


def request(cookie: str = "", accepted: str = "") -> HTTPServerRequest:
    headers = HTTPHeaders({"Host": "lab", "Cookie": cookie, "Accept-Language": accepted})
    return HTTPServerRequest(headers=headers, start_line=RequestStartLine("GET", "/", "HTTP/1.1"))


@pytest.mark.parametrize("path", sorted(skin.STATIC.glob("*.css")), ids=lambda path: path.name)
def test_colours_stand_in_the_tokens_only(path: Path) -> None:
    if path.name != "tokens.css":
        assert COLOUR.findall(path.read_text()) == []


def test_every_token_that_is_used_is_defined() -> None:
    defined = set(re.findall(r"^\s*(--[\w-]+):", (skin.STATIC / "tokens.css").read_text(), re.MULTILINE))
    used = set(re.findall(r"var\((--[\w-]+)\)", (skin.STATIC / "bancada.css").read_text()))
    assert used - defined == set()
    assert defined - used - set(re.findall(r"var\((--[\w-]+)\)", (skin.STATIC / "tokens.css").read_text())) == set()


@pytest.mark.parametrize("path", sorted(skin.STATIC.glob("*.[cj]s*")), ids=lambda path: path.name)
def test_styles_and_scripts_can_be_included_in_a_template_as_they_are(path: Path) -> None:
    text = path.read_text()
    assert Environment(keep_trailing_newline=True).from_string(text).render() == text
    assert "</script" not in text
    assert "https://" not in text


def test_every_template_of_the_hub_is_ours() -> None:
    stock = Path(jupyterhub.__file__).parents[4] / "share" / "jupyterhub" / "templates"
    names = {path.name for path in stock.glob("*.html")}
    assert names, stock
    assert names - {path.name for path in (skin.TEMPLATES / "hub").glob("*.html")} == set()


def test_a_request_without_cookies_follows_the_system() -> None:
    look = skin.look_of(request(accepted="pt"))
    assert (look.words.tag, look.theme, look.contrast, look.admin) == ("pt-BR", "", "", False)


def test_cookies_choose_language_theme_contrast_and_tabs() -> None:
    cookie = "bancada-language=en; bancada-theme=dark; bancada-contrast=more; bancada-tabs=site"
    look = skin.look_of(request(cookie, "pt"))
    assert (look.words.tag, look.theme, look.contrast, look.admin) == ("en", "dark", "more", True)


@pytest.mark.parametrize("value", ["neon", '"><script>', "DARK"])
def test_other_values_of_a_cookie_are_not_put_into_the_page(value: str) -> None:
    assert skin.look_of(request(f"bancada-theme={value}; bancada-contrast={value}")).theme == ""


def test_a_state_escapes_its_word() -> None:
    assert "&lt;b&gt;" in icons.state("good", "<b>")
    assert 'class="state idle"' in icons.state("unknown", "Unknown")
