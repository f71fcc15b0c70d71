"""Puts the built JupyterLab extension into a wheel, where it was built from the sources beside it.

An editable installation, and one without it, build it when a site first needs it (`bancada_images.labextension`).
"""

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCE = "extensions/labextension"
_PACKAGED = "bancada_images/labextension_built"


class LabextensionHook(BuildHookInterface[Any]):
    """Adds the folder; leaves it out, and says so, when it is missing or older than its sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add what was built.

        Args:
            version: `standard` or `editable`.
            build_data: What goes into the wheel.
        """
        if version == "editable":
            return
        root = Path(self.root)
        # Not imported by its name: the package is not installed where it is built.
        path = root / "images" / "bancada_images" / "labextension_key.py"
        spec = importlib.util.spec_from_file_location("labextension_key", path)
        assert spec is not None  # noqa: S101 - a .py file always has a loader
        assert spec.loader is not None  # noqa: S101 - the same
        keys = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(keys)
        built = root / _SOURCE / keys.BUILT
        if keys.key_of(built) == keys.sources_key(root / _SOURCE):
            build_data["force_include"][str(built)] = _PACKAGED
        else:
            self.app.display_warning("The JupyterLab extension is not built: this wheel comes without it.")
