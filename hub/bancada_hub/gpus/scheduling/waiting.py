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
        oldest: The oldest request of each pair.
        shapes: How many lines there are of each shape, by project.
    """

    pairs: Mapping[tuple[int, int], Lines[R]] = field(default_factory=dict)
    by_id: Mapping[int, R] = field(default_factory=dict)
    oldest: Mapping[tuple[int, int], R] = field(default_factory=dict)
    shapes: Mapping[int, Mapping[Hashable, int]] = field(default_factory=dict)

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
        shapes: dict[int, dict[Hashable, int]] = {}
        for (project_id, _), lines in pairs.items():
            for shape in lines:
                _count(shapes, project_id, shape, 1)
        return cls(frozen, by_id, {pair: _oldest(lines) for pair, lines in frozen.items()}, shapes)

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
        shapes = {each: dict(counts) for each, counts in self.shapes.items()}
        if request.shape not in lines:
            _count(shapes, request.project_id, request.shape, 1)
        line = list(lines.get(request.shape, ()))
        insort(line, request, key=seniority)
        lines[request.shape] = tuple(line)
        oldest = {**self.oldest, pair: _oldest(lines)}
        return Waiting({**self.pairs, pair: lines}, {**self.by_id, request.id: request}, oldest, shapes)

    def without(self, ids: Iterable[int]) -> "Waiting[R]":
        """Return the queue without some; those that are not there change nothing."""
        gone = [self.by_id[each] for each in ids if each in self.by_id]
        if not gone:
            return self
        pairs, by_id, oldest = dict(self.pairs), dict(self.by_id), dict(self.oldest)
        shapes = {project_id: dict(counts) for project_id, counts in self.shapes.items()}
        for request in gone:
            if by_id.pop(request.id, None) is not None and _take(pairs, request):
                _count(shapes, request.project_id, request.shape, -1)
        for pair in {(request.project_id, request.person_id) for request in gone}:
            oldest.pop(pair)
            if pair in pairs:
                oldest[pair] = _oldest(pairs[pair])
        return Waiting(pairs, by_id, oldest, shapes)


def _oldest(lines: Lines[R]) -> R:
    return min((line[0] for line in lines.values()), key=seniority)


def _count(shapes: dict[int, dict[Hashable, int]], project_id: int, shape: Hashable, by: int) -> None:
    counts = shapes.setdefault(project_id, {})
    counts[shape] = counts.get(shape, 0) + by
    if not counts[shape]:
        del counts[shape]
    if not counts:
        del shapes[project_id]


def _take(pairs: dict[tuple[int, int], Lines[R]], request: R) -> bool:
    """Take a request out of its line; say whether the line is gone with it."""
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
    return not rest
