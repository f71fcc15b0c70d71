"""The one kernelspec: Python of the work environment, by its absolute path.

A kernelspec whose argv begins with `python` is started with the *server's* interpreter.
"""

import json
from pathlib import Path

NAME = "python3"


def kernelspec(work_environment: Path) -> dict[str, object]:
    """Return what kernel.json says."""
    return {
        "argv": [str(work_environment / "bin" / "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
        "metadata": {"debugger": True},
    }


def write_kernelspec(data_directory: Path, work_environment: Path) -> Path:
    """Write it below a Jupyter data directory, beside nothing: any other kernelspec there would be offered too.

    Args:
        data_directory: Such as /opt/bancada/share/jupyter.
        work_environment: Where kernels run.

    Returns:
        The kernelspec's folder.
    """
    folder = data_directory / "kernels" / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.json").write_text(json.dumps(kernelspec(work_environment), indent=1) + "\n")
    return folder
