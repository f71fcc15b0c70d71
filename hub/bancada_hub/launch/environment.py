"""The environment variables of a server: what it sees as its home, its tools and its sources of packages."""

from dataclasses import dataclass

from bancada.contract import (
    KIND_VARIABLE,
    LANGUAGE_VARIABLE,
    PLACES_VARIABLE,
    PROJECT_VARIABLE,
    REVISION_VARIABLE,
    RUNTIME_DIRECTORY,
    SIMULATED_CARDS_VARIABLE,
    SITE_API_VARIABLE,
    WORK_ENVIRONMENT_VARIABLE,
)
from bancada_hub.launch.choices import Kind
from bancada_images.sources import PackageSources


@dataclass(frozen=True)
class Inside:
    """What the environment depends on."""

    user: str
    project: str
    kind: Kind
    revision: str
    sources: PackageSources
    server_api: str
    language: str
    cards: tuple[str, ...] = ()
    simulated_cards: bool = False


def server_environment(inside: Inside) -> dict[str, str]:
    """Return a server's variables, complete but for those that JupyterHub adds."""
    home = f"/home/{inside.user}"
    # A rescue keeps nothing and reads nothing back: settings, extensions or history may be what broke.
    state = f"{RUNTIME_DIRECTORY}/state" if inside.kind == "rescue" else "/state"
    return {
        **inside.sources.runtime_environment(),
        "HOME": home,
        "USER": inside.user,
        "LOGNAME": inside.user,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "PATH": "/opt/env/bin:/usr/local/bin:/usr/bin:/bin:/opt/bancada/bin",
        "VIRTUAL_ENV": "/opt/env",  # uv installs there, whatever the folder it is run in
        "PYTHONNOUSERSITE": "1",  # packages in ~/.local would shadow the image's and break it
        "UV_LINK_MODE": "copy",
        "PIP_CACHE_DIR": "/tmp/cache/pip",  # noqa: S108 - the server's own /tmp: caches count on no quota
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_CACHE_DIR": "/tmp/cache/uv",  # noqa: S108 - the same
        "JUPYTER_PATH": "/opt/bancada/share/jupyter:/opt/env/share/jupyter",
        # Empty at every start, so that no file of a person keeps a server from starting.
        "JUPYTER_CONFIG_DIR": f"{RUNTIME_DIRECTORY}/config",
        "JUPYTER_DATA_DIR": f"{state}/jupyter",
        "JUPYTER_RUNTIME_DIR": f"{RUNTIME_DIRECTORY}/jupyter",
        "JUPYTERLAB_SETTINGS_DIR": f"{state}/lab/user-settings",
        "JUPYTERLAB_WORKSPACES_DIR": f"{state}/lab/workspaces/{inside.project}",  # a project's tabs stay in it
        "IPYTHONDIR": f"{state}/ipython",
        **_cards(inside),
        KIND_VARIABLE: inside.kind,
        PROJECT_VARIABLE: inside.project,
        REVISION_VARIABLE: inside.revision,
        SITE_API_VARIABLE: inside.server_api,
        LANGUAGE_VARIABLE: inside.language,
        PLACES_VARIABLE: "/places",
        WORK_ENVIRONMENT_VARIABLE: "/opt/env",
    }


def _cards(inside: Inside) -> dict[str, str]:
    # Images that bring CUDA ask for all cards; a server sees the cards of its lease, and without one none.
    named = ",".join(inside.cards)
    if inside.simulated_cards:
        return {"NVIDIA_VISIBLE_DEVICES": "void", SIMULATED_CARDS_VARIABLE: named}
    return {"NVIDIA_VISIBLE_DEVICES": named or "void"}


def with_hub(environment: tuple[tuple[str, str], ...], hub: dict[str, str]) -> dict[str, str]:
    """Add what a server needs to know its hub; nothing else that stands in the hub's settings gets through.

    Args:
        environment: A plan's variables; they win.
        hub: What JupyterHub would give a server.
    """
    return {name: value for name, value in hub.items() if name.startswith("JUPYTERHUB_")} | dict(environment)
