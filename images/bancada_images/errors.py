"""Errors of specs and builds.

    BancadaError
    ├── SpecError    an image's folder says something impossible
    └── BuildError   an image or an environment could not be made
"""

from bancada.errors import BancadaError


class SpecError(BancadaError):
    """An image's folder (image.toml, requirements.in, its lock) says something impossible."""


class BuildError(BancadaError):
    """An image or an environment could not be made."""
