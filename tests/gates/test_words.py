"""What must stand in no committed file. The forbidden words are put together here, so that this file has none."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gates.sources import ROOT, committed, none_of, python_files, text_of

REGISTRIES = (
    ("pypi", "org"),
    ("files", "pythonhosted", "org"),
    ("deb", "debian", "org"),
    ("security", "debian", "org"),
    ("registry", "npmjs", "org"),
    ("registry", "yarnpkg", "com"),
    ("docker", "io/library"),
    ("quay", "io"),
    ("ghcr", "io"),
)
MACHINE_SETTINGS = ("/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/pip.conf", "/etc/npmrc", "/root/.npmrc")
HOMES = ("home", "Users", "work")
DIGEST = re.compile("sha256:" + "[0-9a-f]{64}")
LOCKS = re.compile(r"(requirements/.*\.txt|.*requirements\.lock|.*package-lock\.json|.*yarn\.lock)$")
LONGEST_PAUSE_S = 0.5  # between two looks at a condition
MARKS = ("TO" + "DO", "FIX" + "ME", "X" * 3)


def registry_hosts() -> list[str]:
    """Return the public registries, and those that this machine is set up to ask."""
    hosts = {".".join(parts) for parts in REGISTRIES}
    for place in map(Path, MACHINE_SETTINGS):
        for path in place.rglob("*") if place.is_dir() else [place]:
            if path.is_file():
                hosts |= set(re.findall(r"https?://(?:[^/@\s]*@)?([^/\s:\"']+\.[^/\s:\"']+)", path.read_text()))
    return sorted(hosts)


def found(pattern: str, paths: list[Path]) -> list[str]:
    compiled = re.compile(pattern)
    lines = ((path, n, line) for path in paths for n, line in enumerate((text_of(path) or "").splitlines(), start=1))
    return [f"{path}:{n}: {line.strip()[:120]}" for path, n, line in lines if compiled.search(line)]


def test_no_registry_is_named() -> None:
    """Where packages come from is a setting of each machine and site."""
    pattern = r"(?<![\w.-])(" + "|".join(map(re.escape, registry_hosts())) + r")(?![\w-])"
    none_of(found(pattern, committed()))


def test_no_path_of_a_developers_machine() -> None:
    """A path below somebody's home, or this checkout's own place, is right on one machine only."""
    homes, work = "|".join(HOMES[:2]), HOMES[2]
    somebody = rf"/(?:{homes})/(?!user\b|jovyan\b)[a-z]\w*/(?:src|work|Documents|projects)/"
    patterns = (somebody, rf"(?<![\w./<>{{}}-])/{work}/", rf"(?<![\w./]){re.escape(str(ROOT))}\b")
    none_of(found("|".join(patterns), committed()))


def test_locks_name_no_address() -> None:
    locks = [path for path in committed() if LOCKS.match(str(path))]
    assert locks
    options = r"^\s*(--(extra-)?index-url|--find-links|-i |-f )"
    none_of(found(rf"{options}|\"resolved\":|https?://[^ ]+\.(whl|tgz|tar\.gz)", locks))


def test_no_image_digest_outside_tests() -> None:
    """A digest in the sources would be one that no registry of the site gave."""
    elsewhere = ("tests/", "docs/")
    paths = [path for path in committed() if not LOCKS.match(str(path)) and not str(path).startswith(elsewhere)]
    none_of(found(DIGEST.pattern, paths))


@pytest.mark.parametrize("mark", MARKS)
def test_nothing_is_left_for_later(mark: str) -> None:
    none_of(found(rf"\b{mark}\b", [path for path in committed() if not LOCKS.match(str(path))]))


def test_no_test_sleeps_or_skips() -> None:
    """Tests poll a condition with a deadline, and fail where something real is missing."""
    tests = [path for path in python_files(tests=True) if str(path).startswith("tests/")]
    none_of(line for path in tests for line in sleeps_and_skips(path, (ROOT / path).read_text()))


def sleeps_and_skips(path: Path, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in {"skip", "skipif", "xfail", "importorskip"}:
            yield f"{path}:{node.lineno} {node.attr}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep":
            seconds = node.args[0]
            if not isinstance(seconds, ast.Constant) or float(seconds.value) > LONGEST_PAUSE_S:
                yield f"{path}:{node.lineno} sleeps longer than a poll does"
