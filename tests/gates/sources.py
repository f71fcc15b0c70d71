"""What is in the repository: the files that are, or are about to be, committed."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("hub/bancada_hub", "images/bancada_images", "extensions/bancada")
PRODUCT = ("hub/", "images/", "extensions/", "bench/", "requirements/")


def committed() -> list[Path]:
    """Return all files but the ignored ones, as paths below the repository's root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = {Path(name) for name in listed.split("\0") if name}
    return sorted(path for path in paths if (ROOT / path).is_file())


def text_of(path: Path) -> str | None:
    """Return the text of a file of the repository, or None when it is no text."""
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def python_files(*, tests: bool) -> list[Path]:
    """Return the Python files of the product, and of its tests when asked for; the bootstrap is one of them."""
    folders = (*PRODUCT, "tests/") if tests else PRODUCT
    return [path for path in committed() if path.suffix == ".py" and str(path).startswith(folders)] + [Path("bancada")]


def none_of(problems: Iterable[str]) -> None:
    """Fail with a list of what was found, one a line."""
    found = list(problems)
    assert not found, "\n" + "\n".join(found)
