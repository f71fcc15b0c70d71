"""What the demo shows, a scene each: what to do, what that claims, how much of it is real here, and what proves it.

Each capability adds its own scene; tests hold each proof against the tests that there are.
"""

from dataclasses import dataclass
from enum import StrEnum

from bancada_hub.errors import Told, told


class Here(StrEnum):
    """How much of a claim a demo shows."""

    REAL = "real"
    SIMULATED = "simulated"
    NOT_SHOWN = "not shown"


@dataclass(frozen=True)
class Scene:
    """A thing to see.

    Args:
        look: What to do; empty for what a demo cannot show.
        claim: What that claims.
        here: How much of it is real here.
        why: What of it is not, and why.
        proof: The test that proves the claim, as pytest names it, without the folder `tests/`.
    """

    look: Told | str
    claim: Told
    here: Here
    why: Told | str
    proof: str


NOTHING = ""

SCENES = (
    Scene(
        told("Sign in as Ana, start Vision on Work, open JupyterLab."),
        told("From sign-in to a notebook in two clicks."),
        Here.REAL,
        NOTHING,
        "e2e/test_a_first_day.py",
    ),
    Scene(
        told("Start Speech with one GPU: Ana waits, sees her place, the reason and a range."),
        told("Everybody sees why they wait, and what would change it."),
        Here.SIMULATED,
        told("The queue is real. The cards compute nothing; Bea, Gil and Rui are the demo, and give theirs back soon."),
        "hub/console/test_gpu_queue.py",
    ),
    Scene(
        told("Watch GPUs for a minute: cards are given back, and the next gets them by itself."),
        told("A card that comes free goes to the next without anybody asking again."),
        Here.SIMULATED,
        told("As above."),
        "hub/gpus/test_asking.py",
    ),
    Scene(
        told("Sign in as Lia, open Lab, change a guarantee, press Preview."),
        told("A change of shares says who gains and who waits before it is made."),
        Here.REAL,
        told("The past by which waits are foretold is made up: 30 days drawn from a seed."),
        "hub/gpus/test_dividing.py",
    ),
    Scene(
        told("Sign in as Inês, open Site → Audit."),
        told("Every change leaves its row in a record that nobody can alter unseen."),
        Here.REAL,
        NOTHING,
        "hub/test_trace.py",
    ),
    Scene(
        NOTHING,
        told("Two servers never hold the same card, and a server sees its lease alone."),
        Here.NOT_SHOWN,
        told("It needs the docker engine and NVIDIA cards; the tests use a stand-in for the driver."),
        "hub/launch/test_cards.py",
    ),
    Scene(
        NOTHING,
        told("Walls between servers: no other server, home, socket or host service can be reached."),
        Here.NOT_SHOWN,
        told("It needs the docker engine: here every server is a plain process."),
        "e2e/test_f_hostile.py",
    ),
    Scene(
        NOTHING,
        told("Any process may be killed at any moment: nothing is lost, nothing is left over."),
        Here.NOT_SHOWN,
        told("Try it: kill -9 the console of this demo. It is back within seconds."),
        "crash/test_crashes.py",
    ),
    Scene(
        NOTHING,
        told("A card that fails is noticed within a minute, and its holder is told."),
        Here.NOT_SHOWN,
        told("Simulated cards do not fail."),
        "hub/gpus/test_failing.py",
    ),
)
