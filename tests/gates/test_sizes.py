"""Nothing grows past what one reads at a sitting."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gates.sources import ROOT, none_of, python_files

MODULE_LINES = 400
FUNCTION_LINES = 50


def long_functions(path: Path, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text, str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{path}:{node.lineno} {node.name}: {length} lines"


def test_modules_are_at_most_400_lines() -> None:
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in python_files(tests=True)}
    none_of(f"{path}: {n} lines" for path, n in lengths.items() if n > MODULE_LINES)


def test_functions_are_at_most_50_lines() -> None:
    none_of(line for path in python_files(tests=True) for line in long_functions(path, (ROOT / path).read_text()))


@pytest.mark.parametrize(("lines", "found"), [(FUNCTION_LINES, 0), (FUNCTION_LINES + 1, 1)])
def test_the_gate_counts(lines: int, found: int) -> None:
    text = "async def f():\n" + "    pass\n" * (lines - 1)
    assert len(list(long_functions(Path("x.py"), text))) == found
