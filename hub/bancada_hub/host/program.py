"""Become one program of a site: `python -I program.py FILE NAME`.

systemd and supervisord start this file, so that environments, with secrets in them, stand neither on a command line
nor in a unit file. Standard library only, and no import of Bancada: it is there for a few milliseconds.
"""

import json
import os
import sys
from pathlib import Path


def become(file: Path, name: str) -> None:
    """Replace this process by the program.

    Args:
        file: What `programs.write_programs` wrote.
        name: Which of its programs.
    """
    program = json.loads(file.read_text(encoding="utf-8"))[name]
    os.chdir(program["directory"])
    command, environment = program["command"], program["environment"]
    # A list and no shell; the program itself is looked up on the PATH that it will have.
    os.execvpe(command[0], command, environment)  # noqa: S606


if __name__ == "__main__":
    try:
        become(Path(sys.argv[1]), sys.argv[2])
    except OSError as error:
        sys.exit(f"error: {sys.argv[2]} cannot be started: {error}")
