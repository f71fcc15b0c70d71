"""Cards, requests, leases, the state of the queue and the decisions about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bancada_hub.errors import Told
from bancada_hub.gpus.scheduling.rules import Purpose, Rules
from bancada_hub.gpus.scheduling.waiting import Waiting

CARD_MILLI = 1000

Pair = tuple[int, int]
"""A project's number and a person's."""


class Health(StrEnum):
    """What may be expected of a card."""

    GOOD = "good"
    ATTENTION = "needs attention"
    LOST = "lost"


class Mark(StrEnum):
    """What an administrator has decided about a card."""

    NORMAL = "normal"
    RESERVED = "reserved"
    OUT = "out of service"


@dataclass(frozen=True)
class Card:
    """Something that one lease can hold: a whole card, a MIG instance, or a card with places for several.

    Args:
        uuid: The driver's name of it; never its number, which may change.
        memory_bytes: Its memory.
        numa: The NUMA node it hangs on, if known.
        switch: A name for the PCIe or NVLink switch it hangs on, if known.
        profile: The MIG size, such as `1g.10gb`; empty for a whole card.
        parent: The UUID of the card that a MIG instance is a part of.
        milli: How much of a card it is, for limits and use.
        tenants: How many leases it takes at once; more than one makes it a shared card.
        health: What may be expected of it.
        mark: What an administrator has decided.
        reserved_for: The projects that a reserved card is for.
    """

    uuid: str
    memory_bytes: int
    numa: int | None = None
    switch: str | None = None
    profile: str = ""
    parent: str = ""
    milli: int = CARD_MILLI
    tenants: int = 1
    health: Health = Health.GOOD
    mark: Mark = Mark.NORMAL
    reserved_for: frozenset[int] = frozenset()

    @property
    def usable(self) -> bool:
        """Whether new leases may hold it."""
        return self.health is Health.GOOD and self.mark is not Mark.OUT

    @property
    def general(self) -> bool:
        """Whether it is for everybody."""
        return self.usable and self.mark is Mark.NORMAL

    @property
    def seat_milli(self) -> int:
        """How much of a card one lease of it is."""
        return self.milli // self.tenants


class Kind(StrEnum):
    """What sort of thing a request is for."""

    WHOLE = "whole cards"
    MIG = "a part of a card"
    SHARED = "a place on a shared card"


@dataclass(frozen=True)
class Shape:
    """What a request is for. Requests of one shape by one person are served in the order in which they came.

    Args:
        cards: How many.
        memory_bytes: Least memory of each.
        profile: A MIG size instead of whole cards.
        shared: A place on a shared card instead of a card of one's own.
        card: The UUID of the one card that will do; empty for any.
        purpose: What for.
        wanted_s: How long, if it can be had.
        least_s: For less than this it is of no use.
    """

    cards: int = 1
    memory_bytes: int = 0
    profile: str = ""
    shared: bool = False
    card: str = ""
    purpose: Purpose = Purpose.INTERACTIVE
    wanted_s: float = 8 * 3600.0
    least_s: float = 3600.0

    @property
    def kind(self) -> Kind:
        """What sort of thing it is for."""
        if self.profile:
            return Kind.MIG
        return Kind.SHARED if self.shared else Kind.WHOLE

    @property
    def need(self) -> tuple[str, bool, int, str]:
        """What decides which cards will do."""
        return (self.profile, self.shared, self.memory_bytes, self.card)

    def suits(self, card: Card) -> bool:
        """Return whether a card, whatever its state, is what was asked for."""
        return (
            card.profile == self.profile
            and (card.tenants > 1) == self.shared
            and card.memory_bytes >= self.memory_bytes
            and self.card in {"", card.uuid}
        )


class OnGrant(StrEnum):
    """What happens when a request is granted."""

    START = "start"
    HOLD = "hold"


@dataclass(frozen=True)
class Request:
    """Somebody's place in the queue.

    Args:
        id: Its number; numbers only go up.
        project_id: The project that it counts for.
        person_id: Who asked.
        shape: What for.
        asked_s: When.
        on_grant: Whether the server then starts by itself, or the cards are held for the claim window.
    """

    id: int
    project_id: int
    person_id: int
    shape: Shape
    asked_s: float
    on_grant: OnGrant = OnGrant.HOLD


@dataclass(frozen=True)
class Lease:
    """The right to cards, from a grant to the instant at which they are seen free.

    Args:
        request: What was granted; its number is the lease's too, so that a request is granted once.
        cards: UUIDs.
        milli: How much it counts for limits and use.
        granted_s: Since when.
        ends_s: Until when at most.
        claim_by_s: Until when it waits for its owner; None once a server holds it.
        backfill: Whether it was let in ahead of somebody who could not be served yet.
    """

    request: Request
    cards: tuple[str, ...]
    milli: int
    granted_s: float
    ends_s: float
    claim_by_s: float | None = None
    backfill: bool = False

    @property
    def id(self) -> int:
        """The number of its request."""
        return self.request.id


@dataclass(frozen=True)
class Use:
    """Decayed use beyond guarantees, in thousandths of a card times seconds.

    Args:
        at_s: The instant that it is counted to.
        labs: By lab.
        projects: By project.
        people: By person in a project.
    """

    at_s: float = 0.0
    labs: Mapping[int, float] = field(default_factory=dict)
    projects: Mapping[int, float] = field(default_factory=dict)
    people: Mapping[Pair, float] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """All that a decision depends on.

    Args:
        cards: The inventory.
        rules: Limits, guarantees and weights.
        waiting: The requests.
        leases: By number.
        use: What everybody has used.
        served: When each person in a project was last granted the oldest of their requests there.
        barred: People in projects who may have nothing any more: removed, disabled, or the project archived.
    """

    cards: tuple[Card, ...] = ()
    rules: Rules = field(default_factory=Rules)
    waiting: Waiting[Request] = field(default_factory=Waiting)
    leases: Mapping[int, Lease] = field(default_factory=dict)
    use: Use = field(default_factory=Use)
    served: Mapping[Pair, float] = field(default_factory=dict)
    barred: frozenset[Pair] = frozenset()


@dataclass(frozen=True)
class Grant:
    """Cards go to a request."""

    lease: Lease
    reason: Told


@dataclass(frozen=True)
class Drop:
    """A request leaves the queue without cards."""

    request_id: int
    reason: Told


@dataclass(frozen=True)
class PassOn:
    """A grant that nobody claimed is over; its cards are free again."""

    lease_id: int
    reason: Told


@dataclass(frozen=True)
class End:
    """A lease's time is over: its server is to be stopped. The lease is over once the cards are seen free."""

    lease_id: int
    reason: Told


@dataclass(frozen=True)
class Move:
    """A lease's end or claim window is set anew, because the clock jumped."""

    lease_id: int
    ends_s: float
    claim_by_s: float | None
    reason: Told


@dataclass(frozen=True)
class Head:
    """The first request that had to wait for cards, or at a limit: nobody is let in who would make it wait longer.

    Args:
        request_id: The request.
        by_s: When it has its cards at the latest, should every lease last to its end.
    """

    request_id: int
    by_s: float


@dataclass(frozen=True)
class Decisions:
    """What is to be done now.

    Args:
        now_s: The instant decided for.
        drops: Requests that leave.
        passed: Grants that nobody claimed.
        ends: Leases whose time is over.
        moves: Leases whose times are set anew.
        grants: Who gets which cards, in the order of the decision.
        heads: The first that waits for cards, and the first at each of some limits.
        use: Everybody's use, counted to now.
    """

    now_s: float
    drops: tuple[Drop, ...] = ()
    passed: tuple[PassOn, ...] = ()
    ends: tuple[End, ...] = ()
    moves: tuple[Move, ...] = ()
    grants: tuple[Grant, ...] = ()
    heads: tuple[Head, ...] = ()
    use: Use = field(default_factory=Use)
