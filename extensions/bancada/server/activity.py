"""What runs in a server: its kernels and terminals, as numbers and times, without names and paths."""

from typing import Any

from jupyter_server.serverapp import ServerApp

from bancada.contract import MOST_ACTIVITIES, Activity, KernelActivity


def measure_activity(app: ServerApp) -> Activity:
    """Return what runs.

    Args:
        app: The server.
    """
    kernels: Any = app.kernel_manager  # untyped: both managers keep their entries by id
    running = [kernels.get_kernel(name) for name in kernels.list_kernel_ids()]
    terminals: Any = getattr(app.web_app, "settings", {}).get("terminal_manager")
    open_terminals = list(terminals.terminals.values()) if terminals else []
    return Activity(
        tuple(
            KernelActivity(getattr(kernel, "execution_state", "") == "busy", kernel.last_activity)
            for kernel in running[:MOST_ACTIVITIES]
            if hasattr(kernel, "last_activity")  # not one that is still starting
        ),
        tuple(one.last_activity for one in open_terminals[:MOST_ACTIVITIES] if hasattr(one, "last_activity")),
    )
