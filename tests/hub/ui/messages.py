"""All messages of the hub's pages and the console, as they stand in templates and code."""

from collections.abc import Iterator
from pathlib import Path

from babel.messages.extract import extract
from babel.messages.pofile import read_po
from jinja2 import Environment

from bancada_hub.launch import planned
from bancada_hub.ui import language, skin

HUB = Path(skin.__file__).parents[1]
FUNCTIONS = {"_": None, "gettext": None, "ngettext": (1, 2), "later": None, "told": None, "NewStep": (2,)}
FOLDERS = ("console", "demo", "launch", "ui", "catalog", "gpus", "people", "projects", "store")
FILES = ("naming.py", "doctor.py", "doctor_gpu.py")
OF_THE_HOST = ("host/probe.py", "host/connection.py", "host/gpu_host.py", "host/gpu_toolkit.py")
PLACES = tuple(HUB / name for name in (*FOLDERS, *FILES, *OF_THE_HOST))


def in_templates() -> dict[str | tuple[str, ...], Path]:
    """Return the messages of all templates, with the file of each."""
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    found: dict[str | tuple[str, ...], Path] = {}
    for path in templates():
        for _, function, message in environment.extract_translations(path.read_text()):
            parts = (message,) if isinstance(message, str) else tuple(filter(None, message))
            found[parts if function == "ngettext" else parts[0]] = path
    return found


def in_code() -> dict[str | tuple[str, ...], Path]:
    """Return the messages of all Python files that a page may show, and the stages of a start."""
    found: dict[str | tuple[str, ...], Path] = {}
    for folder in PLACES:
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
            with path.open("rb") as file:
                for _, message, _, _ in extract("python", file, keywords=FUNCTIONS):
                    found[message] = path
    stages = (planned.CHECKING, planned.PREPARING, planned.STARTING, planned.WAITING)
    return found | {words: Path(planned.__file__) for _, words in stages}


def templates() -> Iterator[Path]:
    """Yield all templates."""
    for folder in (HUB / "ui" / "templates", HUB / "console" / "templates"):
        yield from sorted(folder.rglob("*.html"))


def portuguese() -> dict[str | tuple[str, ...], str | tuple[str, ...]]:
    """Return the translations, by message."""
    path = language.LOCALES / "pt_BR" / "LC_MESSAGES" / "bancada.po"
    with path.open("rb") as file:
        catalogue = read_po(file, locale="pt_BR", abort_invalid=True)
    return {
        message.id if isinstance(message.id, str) else tuple(message.id): message.string
        for message in catalogue
        if message.id
    }
