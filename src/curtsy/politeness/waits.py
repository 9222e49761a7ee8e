"""What a visit waited for, told apart after the fact."""

from collections import deque
from collections.abc import Iterable
from typing import Literal, NamedTuple

from curtsy.politeness.hours import Hours

Why = Literal["capacity", "backoff"]
REMEMBERED = 16
WORTH_A_NOTE = 100
"""Milliseconds: shorter holds are not remembered."""


class Waited(NamedTuple):
    """Milliseconds. All in all, the time from when the page could have been asked for."""

    capacity: int = 0
    """Everything allowed it, but no worker had a hand free."""
    politeness: int = 0
    """Others of the same source were before it, each at the source's pace."""
    closed: int = 0
    backoff: int = 0
    """The source rested after trouble, or the page itself before it was tried again."""


NOTHING = Waited()


class Holds:
    """When a source with work stood still, and why: the last few times, as instants."""

    __slots__ = ("_holds",)

    def __init__(self, holds: Iterable[tuple[int, int, Why]] = ()) -> None:
        self._holds: deque[tuple[int, int, Why]] = deque(holds, maxlen=REMEMBERED)

    def add(self, since: int, until: int, why: Why) -> None:
        if until - since >= WORTH_A_NOTE:
            self._holds.append((since, until, why))

    def attribute(self, since: int, until: int, hours: Hours | None) -> Waited:
        """What the time between was spent on."""
        spent: dict[Why, int] = {"capacity": 0, "backoff": 0}
        for start, end, why in self._holds:
            spent[why] += max(0, min(end, until) - max(start, since))
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
