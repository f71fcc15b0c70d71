"""JupyterLab's contents manager, as Jupyter Server calls it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tornado.web import HTTPError

from bancada.server.contents import WholeFileCheckpoints, WholeFileManager


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture
def manager(folder: Path) -> WholeFileManager:
    return WholeFileManager(root_dir=str(folder))


def notebook(source: str) -> dict[str, Any]:
    content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    return {"type": "notebook", "format": "json", "content": content}


def text(content: str) -> dict[str, Any]:
    return {"type": "file", "format": "text", "content": content}


def partial_files(folder: Path) -> list[Path]:
    return list(folder.glob(".~*"))


async def test_a_notebook_is_saved_and_read_back(manager: WholeFileManager, folder: Path) -> None:
    await manager.save(notebook("1 + 1"), "n.ipynb")
    model = await manager.get("n.ipynb")
    assert model["content"]["cells"][0]["source"] == "1 + 1"
    assert (folder / "n.ipynb").read_text().endswith("}\n")
    assert isinstance(manager.checkpoints, WholeFileCheckpoints)
    assert len(await manager.list_checkpoints("n.ipynb")) == 1
    assert partial_files(folder) == []


async def test_text_and_bytes(manager: WholeFileManager, folder: Path) -> None:
    await manager.save(text("olá"), "a.txt")
    await manager.save({"type": "file", "format": "base64", "content": "AAEC"}, "b.bin")
    assert (folder / "a.txt").read_text() == "olá"
    assert (folder / "b.bin").read_bytes() == b"\x00\x01\x02"


@pytest.mark.parametrize("model", [notebook("x" * 2_000_000), text("x" * 2_000_000)])
async def test_no_space_says_so_and_loses_nothing(
    manager: WholeFileManager, folder: Path, model: dict[str, Any]
) -> None:
    await manager.save(notebook("good"), "n.ipynb")
    before = (folder / "n.ipynb").read_bytes()
    with pytest.raises(HTTPError) as caught:
        await manager.save(model, "n.ipynb")
    assert caught.value.status_code == 507
    assert caught.value.log_message == (
        "n.ipynb was not saved: no space is left. The last saved copy is untouched. Delete something, then save again."
    )
    assert (folder / "n.ipynb").read_bytes() == before
    assert partial_files(folder) == []


async def test_a_checkpoint_that_finds_no_space_keeps_the_one_before(manager: WholeFileManager, folder: Path) -> None:
    await manager.save(text("good"), "a.txt")
    await manager.create_checkpoint("a.txt")
    (folder / "a.txt").write_text("x" * 600_000)
    with pytest.raises(HTTPError) as caught:
        await manager.create_checkpoint("a.txt")
    assert caught.value.status_code == 507
    assert next((folder / ".ipynb_checkpoints").glob("a*")).read_text() == "good"


async def test_an_upload_in_parts(manager: WholeFileManager, folder: Path) -> None:
    for number, part in ((1, "one "), (2, "two "), (-1, "three")):
        await manager.save(text(part) | {"chunk": number}, "up.txt")
    assert (folder / "up.txt").read_text() == "one two three"
    with pytest.raises(HTTPError) as caught:
        await manager.save(text("x" * 2_000_000) | {"chunk": 2}, "up.txt")
    assert caught.value.status_code == 507


async def test_what_is_no_text_is_the_askers_mistake(manager: WholeFileManager) -> None:
    with pytest.raises(HTTPError) as caught:
        await manager.save({"type": "file", "format": "base64", "content": "é"}, "b.bin")
    assert caught.value.status_code == 400
