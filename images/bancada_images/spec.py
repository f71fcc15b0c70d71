"""What `image.toml` says: the choices that make a curated image, checked before anything is built."""

import difflib
import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, field_validator, model_validator

from bancada_images.errors import SpecError

SUITES = {"bookworm": "3.11", "trixie": "3.13"}
"""The Debian suites that a base is made from, and the Python that each brings."""

SPEC_FILE = "image.toml"
_KEY = re.compile(r"[a-z][a-z0-9-]{0,23}")
_Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
_Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]


class ImageSpec(BaseModel):
    """One image of the catalog.

    Attributes:
        key: The folder's name: how people and tags name the image.
        title: What pages call it.
        purpose: One sentence: what it is for.
        suite: The Debian suite of its base.
        python: The Python version of that suite, written out because notebooks depend on it.
        apt: Debian packages that the base has beyond what every base has.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    title: _Sentence
    purpose: _Sentence
    suite: str
    python: str
    apt: tuple[_Package, ...] = ()

    @field_validator("suite")
    @classmethod
    def _known_suite(cls, value: str) -> str:
        if value not in SUITES:
            message = f'"{value}" is not a Debian suite that Bancada makes a base from ({", ".join(SUITES)})'
            raise ValueError(message)
        return value

    @field_validator("apt")
    @classmethod
    def _in_order(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(set(value)))

    @model_validator(mode="after")
    def _python_of_the_suite(self) -> "ImageSpec":
        if self.python != SUITES[self.suite]:
            message = f'{self.suite} brings Python {SUITES[self.suite]}, not "{self.python}"'
            raise ValueError(message)
        return self

    @property
    def spec_hash(self) -> str:
        """SHA-256 of what the spec says, whatever the order or layout of its file."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


def catalog_folder() -> Path:
    """Return the folder that holds one folder an image, in a checkout and in an installed wheel alike."""
    return _beside_package("catalog")


def server_folder() -> Path:
    """Return the folder with the lock of the server environment."""
    return _beside_package("server")


def read_spec(folder: Path) -> ImageSpec:
    """Read and check one image's `image.toml`.

    Args:
        folder: The image's folder; its name is the image's key.

    Raises:
        SpecError: The file is missing or says something impossible; names the line and the nearest right key.
    """
    path = folder / SPEC_FILE
    if not _KEY.fullmatch(folder.name):
        raise SpecError(
            f'"{folder.name}" cannot name an image: 1 to 24 of a-z, 0-9 and "-", the first a letter.',
            fix=f"Rename the folder {folder}.",
        )
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as problem:
        raise SpecError(f"{path} cannot be read: {problem.strerror}.", fix=f"Create {path}.") from problem
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SpecError(f"{path} is not valid TOML: {problem}.", fix=f"Correct {path}.") from problem
    _refuse_unknown_keys(path, text, content)
    try:
        return ImageSpec(key=folder.name, **content)
    except ValidationError as problem:
        raise SpecError(_in_words(path, text, problem), fix=f"Correct {path}.") from problem


def _beside_package(name: str) -> Path:
    package = Path(__file__).resolve().parent
    # A wheel carries the folder inside the package; in a checkout it lies beside it.
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def _refuse_unknown_keys(path: Path, text: str, content: dict[str, Any]) -> None:
    known = [name for name in ImageSpec.model_fields if name != "key"]
    for name in content:
        if name in known:
            continue
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f'Did you mean "{nearest[0]}"?' if nearest else f"Known keys: {', '.join(known)}."
        raise SpecError(f'{path}, line {_line_of(text, name)}: unknown key "{name}".', fix=hint)


def _line_of(text: str, key: str) -> int:
    """Return the line where a top-level key (or table) is written; 1 when it is not written at all."""
    written = re.compile(rf"""^\s*\[*\s*["']?{re.escape(key)}["']?\s*(?:[=.\]]|$)""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if written.match(line)), 1)


def _in_words(path: Path, text: str, problem: ValidationError) -> str:
    first = problem.errors()[0]
    key = str(first["loc"][0]) if first["loc"] else "python"
    if first["type"] == "missing":
        return f'{path}: the key "{key}" is missing.'
    says = first["msg"].removeprefix("Value error, ")
    return f"{path}, line {_line_of(text, key)}: {key}: {says}."
