"""Whether a server still reaches the cards of its lease: a reload of systemd can take them from a running container.

The driver's library is asked in a process of its own with a deadline: a call into a sick driver can hang for minutes.
"""

import subprocess
import sys
from collections.abc import Mapping

from bancada.contract import CARDS_NO_LIBRARY, CARDS_SILENT
from bancada.server.walls import NO_CARDS, VISIBLE_CARDS

DEADLINE_S = 15.0
_ASK = """
import ctypes, sys
try:
    library = ctypes.CDLL("libnvidia-ml.so.1")
except OSError:
    print(-1)
    sys.exit()
print(library.nvmlInit_v2())
"""


def cards_error(environment: Mapping[str, str], deadline_s: float = DEADLINE_S) -> int:
    """Return what the driver's library answers here; 0 when all is well, or when the server holds no card.

    Args:
        environment: The server's variables.
        deadline_s: How long to wait for an answer.
    """
    if environment.get(VISIBLE_CARDS, "") in NO_CARDS:
        return 0
    asker = subprocess.Popen(
        [sys.executable, "-I", "-c", _ASK],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
        text=True,
    )
    try:
        said = asker.communicate(timeout=deadline_s)[0].strip()
    except subprocess.TimeoutExpired:
        asker.kill()  # one that the kernel holds ends when it lets go
        return CARDS_SILENT
    return {"-1": CARDS_NO_LIBRARY}.get(said) or (int(said) if said.isdigit() else CARDS_SILENT)
