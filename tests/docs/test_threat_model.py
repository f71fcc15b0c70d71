"""Each claim of the threat model names a test, and that test is there."""

import ast
import re
from pathlib import Path

import pytest

from tests.e2e.test_f_hostile import EXPECTED

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "admin" / "threat-model.md"
NAMED = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<name>\w+)(\[(?P<case>\w+)\])?`")


def claims() -> list[re.Match[str]]:
    return list(NAMED.finditer(PAGE.read_text()))


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim["name"])
def test_a_named_test_is_there(claim: re.Match[str]) -> None:
    tree = ast.parse((ROOT / claim["file"]).read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert claim["name"] in functions
    assert claim["case"] is None or claim["case"] in EXPECTED


def test_every_wall_names_its_proof() -> None:
    walls = PAGE.read_text().split("## The walls")[1].split("## ")[0]
    rows = [line for line in walls.splitlines() if line.startswith("| ") and not line.startswith("| wall")]
    assert len(rows) > 10
    assert all(NAMED.search(row) for row in rows)


def test_the_page_is_in_both_languages_with_the_same_parts() -> None:
    translated = ROOT / "docs" / "pt-BR" / "admin" / "threat-model.md"
    parts = [page.read_text().count("\n## ") for page in (PAGE, translated)]
    assert parts[0] == parts[1]
