"""Each death in the guide names the tests that kill it for real, and they are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "admin" / "crashes.md"
NAMED = re.compile(r"`(?P<file>tests/[\w/]+\.py)(::(?P<name>\w+))?`")


def claims() -> list[re.Match[str]]:
    return list(NAMED.finditer(PAGE.read_text()))


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim["name"] or claim["file"])
def test_a_named_test_is_there(claim: re.Match[str]) -> None:
    tree = ast.parse((ROOT / claim["file"]).read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert claim["name"] is None or claim["name"] in functions


def test_every_death_names_a_test_and_is_in_both_languages() -> None:
    rows = rows_of(PAGE)
    assert len(rows) > 8
    assert all(NAMED.search(row) for row in rows)
    assert len(rows_of(ROOT / "docs" / "pt-BR" / "admin" / "crashes.md")) == len(rows)


def rows_of(page: Path) -> list[str]:
    return [line for line in page.read_text().splitlines() if line.startswith("| ")][1:]
