"""Whatever refuses something can say it in the reader's language: no error of a page is written as a bare sentence."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bancada_hub
from bancada_hub.errors import BancadaError
from bancada_hub.launch.reasons import Reason
from tests.hub.ui.messages import HUB, PLACES

OF_COMMANDS = {
    *("console/__main__.py", "catalog/prepare.py", "store/database.py", "launch/leftovers.py"),
    "host/gpu_toolkit.py",
}
"""What these say is read at the machine's terminal, by whoever runs a command there."""
SENTENCES = {"fix", "what"}


def error_names() -> set[str]:
    for module in pkgutil.walk_packages(bancada_hub.__path__, "bancada_hub."):
        if not module.name.endswith(("jupyterhub_config", "__main__")) and ".migrations" not in module.name:
            importlib.import_module(module.name)

    def below(kind: type) -> set[str]:
        return {kind.__name__}.union(*map(below, kind.__subclasses__()))

    return below(BancadaError)


def bare_sentences(source: str, errors: set[str]) -> Iterator[int]:
    """Yield the line of each error whose words are a string or an f-string, or a name that was given one."""
    tree = ast.parse(source)
    given = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _bare(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name not in errors:
            continue
        for said in [*node.args[:1], *(word.value for word in node.keywords if word.arg in SENTENCES)]:
            if _bare(said) or (isinstance(said, ast.Name) and said.id in given):
                yield node.lineno


def _bare(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    )


def test_no_error_of_a_page_is_a_bare_sentence() -> None:
    errors, found = error_names(), []
    for place in PLACES:
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            inside = path.relative_to(HUB).as_posix()
            if inside not in OF_COMMANDS:
                found += [f"{inside}:{line}" for line in bare_sentences(path.read_text(), errors)]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'raise HostError("It is full.")',
        'raise HostError(f"{path} is full.")',
        'msg = f"{path} is full."\nraise HostError(msg)',
        'raise HostError(told("It is full."), fix="Free some space.")',
    ],
)
def test_a_bare_sentence_is_found(source: str) -> None:
    assert list(bare_sentences(source, {"HostError"}))


def test_every_reason_is_given_by_something() -> None:
    """A reason that nothing gives would be a sentence that nobody translated."""
    sources = [path.read_text() for path in Path(HUB).rglob("*.py") if path.name != "reasons.py"]
    given = set(re.findall(r"\bReason\.([A-Z_]+)\b", "\n".join(sources)))
    assert given == set(Reason.__members__)
