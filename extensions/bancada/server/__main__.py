"""The command of every server: checks what it finds, then serves JupyterLab in this process.

A failed check prints one line that the hub shows to the person (`bancada.contract.StartFailure`) and exits with 78.
"""

import os
import sys
from pathlib import Path

from bancada.contract import (
    KIND_VARIABLE,
    PLACES,
    RUNTIME_DIRECTORY,
    START_FAILED_EXIT,
    WORK_ENVIRONMENT_VARIABLE,
)
from bancada.server.checks import ENGINES_WORK_ENVIRONMENT, PROJECT, Start, check
from bancada.server.kernelspec import write_kernelspec
from bancada.server.language import write_language
from bancada.server.lease import check_lease
from bancada.server.places import make_places
from bancada.server.walls import check_walls, look


def main() -> int:
    """Check, prepare, serve; returns the exit status of a failed check."""
    os.umask(0o022)
    work_environment = Path(os.environ.get(WORK_ENVIRONMENT_VARIABLE, str(ENGINES_WORK_ENVIRONMENT)))
    contained = work_environment == ENGINES_WORK_ENVIRONMENT
    start = Start(
        kind=os.environ.get(KIND_VARIABLE, "work"),
        home=Path(os.environ["HOME"]),
        runtime=Path(os.environ.get("JUPYTER_RUNTIME_DIR", f"{RUNTIME_DIRECTORY}/jupyter")).parent,
        work_environment=work_environment,
        project=PROJECT if contained else None,
    )
    failure = check(start, Path("/proc/self/mountinfo").read_text())
    if failure is None and contained:
        failure = check_walls(look(start.kind, start.home)) or check_lease(os.environ)
    if failure:
        sys.stderr.write(failure.line() + "\n")
        return START_FAILED_EXIT
    places = prepare(start)
    serve(places)
    return 0


def prepare(start: Start) -> Path:
    """Make what lives only as long as the server; returns JupyterLab's root folder."""
    start.runtime.chmod(0o700)  # runc gives a tmpfs the mode of the image's folder, whatever it is told
    (start.runtime / "jupyter").mkdir(mode=0o700, exist_ok=True)
    for name in ("PIP_CACHE_DIR", "UV_CACHE_DIR", "JUPYTER_CONFIG_DIR"):
        if name in os.environ:
            Path(os.environ[name]).mkdir(mode=0o700, parents=True, exist_ok=True)
    if start.work_environment != ENGINES_WORK_ENVIRONMENT:
        # The kernelspec of the server environment leads to /opt/env; without a container that is nobody's.
        share = start.runtime / "share"
        write_kernelspec(share, start.work_environment)
        os.environ["JUPYTER_PATH"] = f"{share}:{os.environ.get('JUPYTER_PATH', '')}".rstrip(":")
    write_language(os.environ)
    return make_places(os.environ)


def serve(places: Path) -> None:
    """Serve JupyterLab until the hub ends it."""
    # Imported here: a failed check says so at once, without the second that these take.
    from bancada.server.configuration import EXTENSIONS, configuration
    from bancada.server.single_user import single_user_server

    single_user = single_user_server()
    single_user.serverapp_config = {"jpserver_extensions": dict(EXTENSIONS)}
    server = single_user.initialize_server(argv=[], config=configuration(places, PLACES[0][0]))
    server.start()


if __name__ == "__main__":
    sys.exit(main())
