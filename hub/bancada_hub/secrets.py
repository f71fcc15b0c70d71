"""The secret store: one file a secret below `<data>/site/secrets`, mode 0600, made once and never printed."""

import os
import secrets as tokens
from pathlib import Path

from bancada_hub.errors import SettingsError


def secret(folder: Path, name: str) -> str:
    """Return the secret of this name, made now if there is none yet.

    Args:
        folder: The store, made with mode 0700 when missing.
        name: A file name, such as "proxy-token".

    Returns:
        64 hex digits (32 random bytes), the form that JupyterHub wants of cookie secrets and tokens.

    Raises:
        SettingsError: The file can be read by others than its owner, or is empty.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path)
    with os.fdopen(handle, "w") as file:
        file.write(tokens.token_hex(32))
        file.flush()
        os.fsync(file.fileno())
    return _read(path)


def _read(path: Path) -> str:
    if path.stat().st_mode & 0o077:
        msg = f"The secret {path} can be read by other accounts of this machine."
        raise SettingsError(msg, fix=f"Run: chmod 600 {path}")
    value = path.read_text().strip()
    if not value:
        msg = f"The secret {path} is empty: it was being written when the machine stopped."
        raise SettingsError(msg, fix=f"Run: rm {path} && ./bancada up")
    return value
