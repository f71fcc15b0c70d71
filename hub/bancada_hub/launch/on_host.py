"""The process engine's view of a plan: without mounts, a path inside becomes the path here that it stands for."""

import json
from dataclasses import dataclass
from pathlib import Path

from bancada.contract import LINKS_VARIABLE, PLACES, RUNTIME_DIRECTORY
from bancada_hub.launch.names import container_name
from bancada_hub.launch.plan import LaunchPlan
from bancada_hub.places import Places

SERVER_VARIABLE = "BANCADA_SERVER"
"""Names the server in the environment of all its processes, kernels and terminals too: by it they are found."""


@dataclass(frozen=True)
class HostView:
    """What a plan becomes without containers.

    Args:
        plan: The plan.
        places: The site's paths.
        runtime: This start's own short-lived folder.
        work_environment: Where kernels run.
    """

    plan: LaunchPlan
    places: Places
    runtime: Path
    work_environment: Path

    def path(self, inside: str) -> str:
        """Return what a path inside a server is on this machine; one that nothing stands for stays as it is."""
        stands_for = {item.target: item.source for item in self.plan.mounts} | {
            "/opt/env": self.work_environment,
            RUNTIME_DIRECTORY: self.runtime,
            "/places": self.runtime / "places",
            "/tmp/cache": self.runtime / "cache",  # noqa: S108 - in a container everybody has their own /tmp
        }
        for target in sorted(stands_for, key=len, reverse=True):
            if inside == target or inside.startswith(f"{target}/"):
                return str(stands_for[target]) + inside[len(target) :]
        return inside

    def environment(self) -> tuple[tuple[str, str], ...]:
        """Return the plan's variables with the paths of this machine."""
        links = {name: self.path(target) for name, target in PLACES if target}
        variables = {name: ":".join(map(self.path, value.split(":"))) for name, value in self.plan.environment}
        return tuple(
            sorted(
                {
                    **variables,
                    LINKS_VARIABLE: json.dumps(links),
                    SERVER_VARIABLE: container_name(self.plan.key),
                    "GIT_CONFIG_SYSTEM": str(self.places.identities / "gitconfig"),
                }.items()
            )
        )

    def command(self) -> list[str]:
        """Return the plan's command with the paths of this machine."""
        return [self.path(word) for word in self.plan.command]
