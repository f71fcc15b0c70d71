"""Errors of specs and builds.

BancadaError
├── SpecError             an image's folder says something impossible
└── BuildError            an image or an environment could not be made
    └── BuildCancelled    somebody asked to stop; nothing half-made is left
"""

from bancada.errors import BancadaError


class SpecError(BancadaError):
    """An image's folder (image.toml, requirements.in, its lock) says something impossible."""


class BuildError(BancadaError):
    """An image or an environment could not be made."""


class BuildCancelled(BuildError):  # noqa: N818 - it was asked for, it is not a fault
    """Somebody asked to stop; nothing half-made is left."""

    def __init__(self) -> None:
        super().__init__("Stopped as asked.", fix="Run the same command again to go on: finished steps are skipped.")
