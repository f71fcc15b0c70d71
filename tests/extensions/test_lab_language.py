"""Every text of JupyterLab's part is in Portuguese too, in the form that JupyterLab's translator reads."""

import json
import re
from pathlib import Path

from tests.gates.sources import ROOT

SOURCES = ROOT / "extensions" / "labextension" / "src"
CATALOG = ROOT / "extensions" / "bancada" / "locale" / "pt_BR" / "LC_MESSAGES" / "bancada.json"
CALL = re.compile(r"trans\.__\(\s*'((?:[^'\\]|\\.)*)'")


def texts() -> set[str]:
    return {text for path in Path(SOURCES).glob("*.ts") for text in CALL.findall(path.read_text())}


def test_every_call_of_the_translator_has_a_plain_text() -> None:
    for path in SOURCES.glob("*.ts"):
        source = path.read_text()
        assert len(CALL.findall(source)) == source.count("trans.__("), path.name


def test_catalog_has_these_texts_and_no_others() -> None:
    catalog = json.loads(CATALOG.read_text())
    assert catalog.pop("") == {
        "domain": "bancada",
        "language": "pt-BR",  # with a hyphen, although the folder has an underscore
        "plural_forms": "nplurals=2; plural=(n > 1);",
    }
    assert set(catalog) == texts()
    for text, translated in catalog.items():
        assert len(translated) == 1
        assert translated[0], text
        assert sorted(re.findall(r"%\d", text)) == sorted(re.findall(r"%\d", translated[0]))
