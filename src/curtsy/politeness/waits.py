"""Attributes the time that a visit waited to its causes, once it starts."""

from collections import deque
from collections.abc import Iterable
from typing import Literal, NamedTuple

from curtsy.politeness.hours import Hours

Why = Literal["capacity", "backoff"]
REMEMBERED = 16
SHORTEST_HOLD = 100
"""Milliseconds: shorter holds are not stored."""


class Waited(NamedTuple):
    """Milliseconds, which add up to the time since the page could have been requested."""

    capacity: int = 0
    """Every rule allowed a request, but no worker had a free slot."""
    politeness: int = 0
    """Other visits to the same source came first, at the source's pace."""
    closed: int = 0
    backoff: int = 0
    """The source rested after a failure, or the page waited for its retry."""


NOTHING = Waited()


class Holds:
    """The last few times, as instants, in which a source with work sent no requests, and why."""

    __slots__ = ("_holds",)

    def __init__(self, holds: Iterable[tuple[int, int, Why]] = ()) -> None:
        self._holds: deque[tuple[int, int, Why]] = deque(holds, maxlen=REMEMBERED)

    def add(self, since: int, until: int, why: Why) -> None:
        if until - since >= SHORTEST_HOLD:
            self._holds.append((since, until, why))

    def attribute(self, since: int, until: int, hours: Hours | None) -> Waited:
        """Attributes the time between two instants."""
        if not self._holds and (hours is None or not hours.closed):
            return Waited(0, max(0, until - since), 0, 0)
        spent: dict[Why, int] = {"capacity": 0, "backoff": 0}
        for start, end, why in self._holds:
            if end > since and start < until:
                spent[why] += min(end, until) - max(start, since)
        closed = hours.closed_between(since, until) if hours is not None and hours.closed else 0
        whole = max(0, until - since)
        backoff = min(spent["backoff"], whole)
        closed = min(closed, whole - backoff)
        capacity = min(spent["capacity"], whole - backoff - closed)
        return Waited(capacity, whole - backoff - closed - capacity, closed, backoff)

    def before(self, moment: int) -> list[list[int | str]]:
        return [[moment - since, moment - until, why] for since, until, why in self._holds]

    @classmethod
    def since(cls, moment: int, before: Iterable[tuple[int, int, Why]]) -> "Holds":
        return cls((moment - since, moment - until, why) for since, until, why in before)
