"""Installing NVIDIA's container toolkit and telling the engine of it; proving it with a container. Never the driver."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import docker
import requests
from docker.errors import DockerException
from docker.types import DeviceRequest

from bancada_hub.errors import EngineError, HostError, told
from bancada_hub.host import daemon, debian
from bancada_hub.host.checks import Check
from bancada_hub.host.gpu_host import TOOLKIT, GpuHost, check_host

CONFIGURE = ("nvidia-ctk", "runtime", "configure", "--runtime=docker")
LIST = ("nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader")
REASON = "Servers get their GPUs through NVIDIA's container toolkit."
COMMAND_S, PROOF_S = 120, 60


@dataclass(frozen=True)
class Hand:
    """How something is done to the machine.

    Args:
        agreed: Whether `--yes` was given.
        ask: Asks a question on the terminal; None where there is none.
        say: Says what is done.
    """

    agreed: bool
    ask: Callable[[str], bool] | None
    say: Callable[[str], None]

    def may(self, question: str) -> bool:
        """Return whether something may be done."""
        return self.agreed or (self.ask is not None and self.ask(question))


def steps_for(found: GpuHost) -> tuple[str, ...]:
    """Return what is to be done, in order: `toolkit`, `configure`, `restart`; nothing where a driver is missing."""
    wrong = {check.name for check in check_host(found) if not check.ok}
    if wrong & {"gpu-driver", "gpu-library"}:
        return ()
    if "gpu-toolkit" in wrong:
        return ("toolkit", "configure", "restart")
    return ("configure", "restart") if "gpu-engine" in wrong else ()


def mend(found: GpuHost, running: Sequence[str], *, survive: bool, hand: Hand) -> None:
    """Install and configure what is missing, and restart the engine after saying whom that stops.

    Args:
        found: What there is.
        running: Names of containers that run now.
        survive: Whether they live through a restart of the engine (live-restore).
        hand: How it is done.

    Raises:
        HostError: Nobody agreed, or a step failed; the message says which.
    """
    for step in steps_for(found):
        if step == "toolkit":
            hand.say(f"apt-get install {TOOLKIT}")
            _install(hand)
        elif step == "configure":
            if not hand.may("Let nvidia-ctk enter its runtime into /etc/docker/daemon.json?"):
                raise HostError("The engine was not configured: nobody agreed.", fix="Run it again with --yes.")
            hand.say(" ".join(CONFIGURE))
            _command(CONFIGURE)
        else:
            stopped = "" if survive or not running else f" This stops {len(running)}: {', '.join(running[:5])}."
            if not hand.may(f"Restart the container engine?{stopped}"):
                raise HostError("The engine knows the cards after its next start.", fix="systemctl restart docker")
            if not daemon.has_systemd():
                raise HostError("No systemd runs this machine.", fix="Restart the container engine by hand.")
            hand.say(f"systemctl restart docker.{stopped}")
            _command(("systemctl", "restart", "docker"))


def prove(client: docker.DockerClient, image: str, uuid: str) -> Check:
    """Ask the engine for one card, and look from inside a container whether that one is there and no other.

    Args:
        client: The engine.
        image: An image that the engine has.
        uuid: The card.
    """
    request = DeviceRequest(driver="nvidia", device_ids=[uuid], capabilities=[["gpu", "utility"]])
    try:
        container = client.containers.create(
            image,
            list(LIST[1:]),
            entrypoint=[LIST[0]],
            device_requests=[request],
            network_mode="none",
            mem_limit="512m",
        )
    except (DockerException, requests.RequestException) as error:
        return _unproven(error)
    try:
        container.start()
        container.wait(timeout=PROOF_S)
        said = container.logs(stdout=True, stderr=True).decode(errors="replace").split()
    except (DockerException, requests.RequestException) as error:
        return _unproven(error)
    finally:
        container.remove(force=True)
    if said == [uuid]:
        alone = told("A container that asked for %(uuid)s sees that card alone.", uuid=uuid)
        return Check("gpu-proof", ok=True, detail=alone)
    words = {"uuid": uuid, "seen": " ".join(said)[:300] or "-"}
    detail = told("A container that asked for %(uuid)s sees: %(seen)s", **words)
    return Check("gpu-proof", ok=False, detail=detail, fix=told("See the engine's log: journalctl --unit docker"))


def _unproven(error: Exception) -> Check:
    why = str(getattr(error, "explanation", None) or error)
    detail = told("No container could be given a card: %(why)s", why=why)
    return Check("gpu-proof", ok=False, detail=detail, fix=told("See the engine's log: journalctl --unit docker"))


def _install(hand: Hand) -> None:
    try:
        debian.install([TOOLKIT], reason=REASON, agreed=hand.agreed, ask=hand.ask)
    except HostError as error:
        if "nobody" in error.what.lower() or not debian.is_debian():
            raise
        fix = "Add NVIDIA's package repository as its guide to the container toolkit says, then run this again."
        raise HostError(error.what, fix=fix) from error


def _command(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"{' '.join(command)} could not be run: {error}", fix="Run it by hand.") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-600:]
        raise EngineError(f"{' '.join(command)} failed: {said}", fix="Mend what it says, then run this again.")
