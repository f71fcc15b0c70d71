"""The shape of the packages: typed, layered, described."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.gates.sources import PACKAGES, ROOT, committed, none_of, python_files


def test_every_package_says_that_it_is_typed() -> None:
    none_of(package for package in PACKAGES if not (ROOT / package / "py.typed").exists())


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in committed() if path.suffix == ".py" and str(path).startswith(PACKAGES)}
    none_of(str(folder) for folder in sorted(folders) if not (ROOT / folder / "__init__.py").exists())


def test_every_module_says_what_it_is_for() -> None:
    texts = {path: (ROOT / path).read_text() for path in python_files(tests=False)}
    none_of(str(path) for path, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text)))


def test_imports_go_down_the_layers() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    path = os.pathsep.join(str(ROOT / package.partition("/")[0]) for package in PACKAGES)
    result = subprocess.run(
        [program], cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_noun_is_there() -> None:
    """An entry point that leads nowhere would only show when somebody types its noun."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    missing = []
    for noun, target in project["entry-points"]["bancada.nouns"].items():
        module, _, function = target.partition(":")
        files = [ROOT / folder / f"{module.replace('.', '/')}.py" for folder in ("hub", "images", "extensions")]
        texts = [path.read_text() for path in files if path.exists()]
        if not any(f"\ndef {function}(" in text for text in texts):
            missing.append(noun)
    none_of(missing)
