"""The requests that wait, by project, person and shape: a decision looks at the first of each line only."""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Waits(Protocol):
    """What the index needs to know of a request."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def project_id(self) -> int:
        """The project that it counts for."""

    @property
    def person_id(self) -> int:
        """Who asked."""

    @property
    def shape(self) -> Hashable:
        """What for."""

    @property
    def asked_s(self) -> float:
        """When."""


R = TypeVar("R", bound=Waits)
Line = tuple[R, ...]
Lines = Mapping[Hashable, Line[R]]


def seniority(request: Waits) -> tuple[float, int]:
    """Return what orders requests by age; a clock that jumped back cannot put two in one place."""
    return (request.asked_s, request.id)


@dataclass(frozen=True)
class Waiting(Generic[R]):
    """The queue, kept as frozen lines: a change makes a new one that shares all lines but one.

    Args:
        pairs: Lines by shape, oldest first, by (project, person).
        by_id: All requests by number.
    """

    pairs: Mapping[tuple[int, int], Lines[R]] = field(default_factory=dict)
    by_id: Mapping[int, R] = field(default_factory=dict)

    @classmethod
    def of(cls, requests: Iterable[R]) -> "Waiting[R]":
        """Return the index of some requests."""
        pairs: dict[tuple[int, int], dict[Hashable, list[R]]] = {}
        by_id = {}
        for request in sorted(requests, key=seniority):
            lines = pairs.setdefault((request.project_id, request.person_id), {})
            lines.setdefault(request.shape, []).append(request)
            by_id[request.id] = request
        frozen = {pair: {shape: tuple(line) for shape, line in lines.items()} for pair, lines in pairs.items()}
        return cls(frozen, by_id)

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[R]:
        return iter(self.by_id.values())

    def add(self, request: R) -> "Waiting[R]":
        """Return the queue with one more; with the same when it is there already."""
        if request.id in self.by_id:
            return self
        pair = (request.project_id, request.person_id)
        lines = dict(self.pairs.get(pair, {}))
        line = list(lines.get(request.shape, ()))
        insort(line, request, key=seniority)
        lines[request.shape] = tuple(line)
        return Waiting({**self.pairs, pair: lines}, {**self.by_id, request.id: request})

    def without(self, ids: Iterable[int]) -> "Waiting[R]":
        """Return the queue without some; those that are not there change nothing."""
        gone = [self.by_id[each] for each in ids if each in self.by_id]
        if not gone:
            return self
        pairs, by_id = dict(self.pairs), dict(self.by_id)
        for request in gone:
            if by_id.pop(request.id, None) is not None:
                _take(pairs, request)
        return Waiting(pairs, by_id)


def _take(pairs: dict[tuple[int, int], Lines[R]], request: R) -> None:
    pair = (request.project_id, request.person_id)
    lines = dict(pairs[pair])
    line = lines[request.shape]
    place = bisect_left(line, seniority(request), key=seniority)
    rest = line[:place] + line[place + 1 :]
    if rest:
        lines[request.shape] = rest
    else:
        del lines[request.shape]
    if lines:
        pairs[pair] = lines
    else:
        del pairs[pair]
