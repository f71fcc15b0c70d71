"""Short names and titles of every kind: kept as they are, or refused with words that help."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bancada_hub.errors import PeopleError
from bancada_hub.naming import SLUG, check_slug, checked_title, nearest_slug
from tests.hub.domain import refusal

CODE = "<img src=x onerror=alert(1)> '; DROP TABLE projects;-- ${7*7} {{7*7}} %(x)s"


@given(st.one_of(st.text(max_size=40), st.from_regex(r"[a-z0-9-]{0,30}", fullmatch=True)))
def test_a_slug_is_taken_as_it_is_or_refused_with_one_that_would_do(slug: str) -> None:
    refused = refusal(lambda: check_slug(slug))
    if refused:
        assert refused.what.isprintable()
        assert refused.fix
        near = nearest_slug(slug)
        assert not near or refusal(lambda: check_slug(near)) is None
        return
    assert SLUG.fullmatch(slug)
    assert 1 <= len(slug) <= 24
    assert not slug.startswith(("x-", "me-"))
    assert not slug.endswith("-")


@pytest.mark.parametrize(
    "slug", ["", "-", "a-", "1a", "A", "me-1", "x-0", "root", "tty", "a" * 25, "a.b", "a/b", "..", "ç", "a\n", "a b"]
)
def test_slugs_that_something_could_not_carry(slug: str) -> None:
    with pytest.raises(PeopleError):
        check_slug(slug)


@pytest.mark.parametrize("slug", ["a", "a1", "a--b", "x", "me", "mesa", "xray", "a" * 24])
def test_slugs_that_will_do(slug: str) -> None:
    check_slug(slug)


@given(st.text(max_size=100))
def test_a_title_is_kept_as_typed_or_refused(text: str) -> None:
    refused = refusal(lambda: checked_title(text))
    if refused:
        assert refused.what.isprintable()
        return
    kept = checked_title(text)
    assert kept == text.strip()
    assert 1 <= len(kept) <= 80
    assert "\n" not in kept


@pytest.mark.parametrize(
    "title", ["", "  ", "\u200d", "a\nb", "a\0b", "a\u202eb", "\u2028", "\ud800", "a" * 81, "a\x1b[2J"]
)
def test_titles_that_nobody_could_see(title: str) -> None:
    with pytest.raises(PeopleError):
        checked_title(title)


@pytest.mark.parametrize("title", [CODE, "Ótica não linear", "小麦", "👩\u200d🔬 lab", "a" * 80])
def test_titles_that_are_text(title: str) -> None:
    assert checked_title(f"  {title} ") == title
