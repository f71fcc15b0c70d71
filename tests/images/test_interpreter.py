"""Which Python environments without a container are made from."""

import os
from pathlib import Path

from bancada_images.interpreter import everybody_may_run, host_interpreter


def test_a_program_below_a_private_folder_is_nobody_elses(tmp_path: Path) -> None:
    program = tmp_path / "private" / "python3"
    program.parent.mkdir(mode=0o755)
    program.write_text("")
    program.chmod(0o755)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):  # pytest's own are private
        folder.chmod(0o711)
    assert everybody_may_run(program)
    program.parent.chmod(0o700)
    assert not everybody_may_run(program)
    link = tmp_path / "python3"
    link.symlink_to(program)
    assert not everybody_may_run(link)


def test_the_interpreter_can_be_run_by_those_who_need_it() -> None:
    found = host_interpreter()
    assert found.exists()
    assert os.geteuid() != 0 or everybody_may_run(found)
