"""How JupyterLab is configured: in code, and nowhere else, so that no file of a person can keep it from starting."""

from pathlib import Path

from traitlets.config import Config

EXTENSIONS = {"jupyterlab": True, "jupyter_server_terminals": True, "bancada.server.extension": True}
"""All there are: what is named here is loaded, and nothing is searched for."""


def configuration(places: Path, first: str) -> Config:
    """Return the configuration of one server.

    Args:
        places: JupyterLab's root folder.
        first: The place that is open first; new notebooks go there.
    """
    config = Config()
    server = config.ServerApp
    server.root_dir = str(places)
    config.FileContentsManager.preferred_dir = first
    server.contents_manager_class = "bancada.server.contents.WholeFileManager"
    server.allow_unauthenticated_access = False
    server.quit_button = False
    # Not a login shell: /etc/profile would put its own PATH in the place of ours.
    server.terminado_settings = {"shell_command": ["/bin/bash"]}
    config.KernelSpecManager.ensure_native_kernel = False
    config.KernelManager.transport = "ipc"  # files in memory that only their owner reads, instead of ports
    lab = config.LabApp
    lab.news_url = None
    lab.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
    lab.extension_manager = "readonly"
    return config
