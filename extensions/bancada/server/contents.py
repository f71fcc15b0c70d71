"""How JupyterLab's files are saved: whole or not at all, with a sentence when there is no room.

JupyterLab's own save truncates the file before it writes, with a copy beside it to go back to: on a full disk both can
be lost.
"""

import io
from base64 import decodebytes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from anyio.to_thread import run_sync
from jupyter_server.services.contents.filecheckpoints import AsyncFileCheckpoints
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError
from traitlets import default

from bancada.server.whole_file import DiskFullError, is_full, write_whole

INSUFFICIENT_STORAGE = 507


class WholeFileCheckpoints(AsyncFileCheckpoints):
    """Checkpoints that replace the one before only when they are complete."""

    async def _copy(self, src: str, dest: str) -> None:
        with self.perm_to_403(dest), no_room_is_said(dest):
            await run_sync(lambda: write_whole(Path(dest), Path(src).read_bytes()))


class WholeFileManager(AsyncLargeFileManager):
    """JupyterLab's files, saved by `write_whole`."""

    @default("checkpoints_class")
    def _checkpoints_class(self) -> type[WholeFileCheckpoints]:
        return WholeFileCheckpoints

    async def _copy(self, src: str, dest: str) -> None:
        with no_room_is_said(dest):
            await super()._copy(src, dest)  # type: ignore[no-untyped-call]

    async def _save_notebook(
        self,
        os_path: str,
        nb: Any,  # noqa: ANN401 - nbformat's own type
        capture_validation_error: Any = None,  # noqa: ANN401 - the same
    ) -> None:
        write = partial(nbformat.writes, version=nbformat.NO_CONVERT, capture_validation_error=capture_validation_error)

        def content() -> bytes:
            text: str = write(nb)
            return (text if text.endswith("\n") else text + "\n").encode()

        await self._write(os_path, content)

    async def _save_file(self, os_path: str, content: str, format: str | None) -> None:  # noqa: A002 - Jupyter's name
        if format not in {"text", "base64"}:
            raise HTTPError(400, "Must specify format of file contents as 'text' or 'base64'")
        decode: Callable[[], bytes] = (
            content.encode if format == "text" else lambda: decodebytes(content.encode("ascii"))
        )
        await self._write(os_path, decode)

    async def _save_large_file(self, os_path: str, content: str, format: str | None) -> None:  # noqa: A002
        with no_room_is_said(os_path):
            await super()._save_large_file(os_path, content, format)  # type: ignore[no-untyped-call]

    @contextmanager
    def atomic_writing(self, os_path: str, *args: Any, **kwargs: Any) -> Iterator[Any]:  # noqa: ANN401 - Jupyter's
        """Collect what is written and write it whole at the end; an error before that writes nothing."""
        text = kwargs.get("text", args[0] if args else True)
        file = io.StringIO() if text else io.BytesIO()
        yield file
        value = file.getvalue()
        with self.perm_to_403(os_path), no_room_is_said(os_path):
            write_whole(
                Path(os_path), value.encode(kwargs.get("encoding", "utf-8")) if isinstance(value, str) else value
            )

    async def _write(self, os_path: str, content: Callable[[], bytes]) -> None:
        try:
            ready = await run_sync(content)
        except ValueError as error:
            raise HTTPError(400, f"Encoding error saving {os_path}: {error}") from error
        with self.perm_to_403(os_path), no_room_is_said(os_path):
            await run_sync(write_whole, Path(os_path), ready)


@contextmanager
def no_room_is_said(os_path: str) -> Iterator[None]:
    """Turn a full disk or quota into a sentence that JupyterLab shows."""
    try:
        yield
    except OSError as error:
        if not (isinstance(error, DiskFullError) or is_full(error)):
            raise
        name = Path(os_path).name
        raise HTTPError(
            INSUFFICIENT_STORAGE,
            f"{name} was not saved: no space is left. The last saved copy is untouched. "
            "Delete something, then save again.",
        ) from error
