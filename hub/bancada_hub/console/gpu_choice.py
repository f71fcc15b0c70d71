"""What a project's card on Work says of GPUs: how many are free, one's place in the queue, what is held."""

from collections.abc import Iterable
from dataclasses import dataclass

from bancada_hub.gpus.board import Board, Holds, Waits, free_for, parts_for, places_for
from bancada_hub.gpus.broker import Lab
from bancada_hub.store.projects import Project

MOST_OFFERED = 8
"""More cards at once are asked for by REST or command line: a longer list would be in everybody's way."""


SHARED = "shared"
"""What a start asks for that wants a place on a shared card."""

PART = "part:"
"""What a start asks for begins with this when it wants a part of a card (MIG); its size follows."""


def asked_for(wanted: str) -> dict[str, object] | None:
    """Return what a choice of GPUs asks the queue for; None for what is no choice.

    Args:
        wanted: A number of cards, `shared`, or `part:` with a size.
    """
    if wanted == SHARED:
        return {"shared": True}
    if wanted.startswith(PART) and len(wanted) > len(PART):
        return {"profile": wanted.removeprefix(PART)}
    if wanted.isascii() and wanted.isdecimal() and 1 <= int(wanted[:3]) <= MOST_OFFERED and len(wanted) < 3:
        return {"cards": int(wanted)}
    return None


@dataclass(frozen=True)
class GpuChoice:
    """GPUs, for one person in one project.

    Args:
        free: Whole cards that the project could be given now.
        total: Whole cards that it could be given at all.
        waits: The person's own place in the queue, when they are in it.
        holds: The cards that the person has there.
        simulated: Whether the cards are none.
        shared_free: Places on shared cards that the project could be given now.
        shared_total: Places that it could be given at all.
        on_shared: Whether what the person holds is a place on a shared card.
        parts: Sizes of parts of cards (MIG): the size, how many are free for the project, how many there are for it.
    """

    free: int
    total: int
    waits: Waits | None = None
    holds: Holds | None = None
    simulated: bool = False
    shared_free: int = 0
    shared_total: int = 0
    on_shared: bool = False
    parts: tuple[tuple[str, int, int], ...] = ()

    @property
    def counts(self) -> range:
        """How many cards are offered beside Start."""
        return range(1, min(self.total, MOST_OFFERED) + 1)

    @property
    def usual(self) -> str:
        """What a start has unless the person chooses otherwise: a card if one is free."""
        return "1" if self.free else "no"


def gpu_choices(board: Board, lab: Lab, projects: Iterable[Project], *, simulated: bool) -> dict[int, GpuChoice]:
    """Return what to say of GPUs for each project by number; nothing where there are none."""
    found = {}
    for project in projects:
        free, total = free_for(lab, board, project.id)
        places, all_places = places_for(lab, board, project.id)
        holds = board.own_hold(project.slug)
        shared = {card.uuid for card in lab.cards if card.tenants > 1}
        choice = GpuChoice(
            free,
            total,
            board.own_wait(project.slug),
            holds,
            simulated,
            places,
            all_places,
            on_shared=holds is not None and not shared.isdisjoint(holds.cards),
            parts=parts_for(lab, board, project.id),
        )
        if total or all_places or choice.parts or choice.waits or choice.holds:
            found[project.id] = choice
    return found
