"""JupyterLab in the language of the person's pages, unless they chose another in JupyterLab itself.

JupyterLab takes the language from a setting, and a setting's default from its configuration folder, which is made anew
at each start.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from bancada.contract import LANGUAGE_VARIABLE, LANGUAGES

SETTING = "@jupyterlab/translation-extension:plugin"


def write_language(environment: Mapping[str, str]) -> None:
    """Write the default of JupyterLab's setting.

    Args:
        environment: The server's variables.
    """
    language, folder = environment.get(LANGUAGE_VARIABLE, ""), environment.get("JUPYTER_CONFIG_DIR")
    if language not in LANGUAGES or not folder:
        return
    path = Path(folder) / "labconfig" / "default_setting_overrides.json"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(json.dumps({SETTING: {"locale": language.replace("-", "_")}}) + "\n")
