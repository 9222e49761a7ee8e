"""Places in a source's order, and how they are kept when a visit goes to another source."""

from collections import defaultdict
from collections.abc import Collection, Mapping

import orjson

from curtsy.store import Connection, Statement

VirtualTimes = Mapping[int, Mapping[str, list[int]]]
"""By source and priority: the virtual time, and the floor below which nobody looks."""

_RANKS = Statement(
    "SELECT s.id, s.ranks FROM {wanted} JOIN sources s ON s.id = wanted.id",
    wanted={"id": "bigint"},
)


def virtual_times(connection: Connection, sources: Collection[int]) -> VirtualTimes:
    """Of those that have any; others stand at the beginning."""
    if not sources:
        return {}
    rows = _RANKS(connection, wanted=[(i,) for i in sources])
    return {i: orjson.loads(ranks) for i, ranks in rows if ranks != "{}"}


def carried_over(rank: int, priority: int, times: VirtualTimes, *, here: int, there: int) -> int:
    """As far from the virtual time there as it was here: below that, nobody would look for it."""
    before, after = (times.get(i, {}).get(str(priority), [0, 0])[0] for i in (here, there))
    return after + max(1, rank - before)


class Ranks:
    """Fair order: a page's rank is its source's virtual time plus its position in its job.

    Two jobs on one source therefore take turns, whatever their sizes. Virtual time is kept for
    each priority: the rank of the last page of that priority that was dealt with.
    """

    def __init__(self, virtual_times: VirtualTimes) -> None:
        self._next: dict[tuple[int, int], int] = defaultdict(int)
        for source_id, by_priority in virtual_times.items():
            for priority, (virtual_time, _floor) in by_priority.items():
                self._next[source_id, int(priority)] = virtual_time

    @classmethod
    def read(cls, connection: Connection, source_ids: Collection[int]) -> "Ranks":
        """Of a source that is not asked for, virtual time stands at its beginning."""
        return cls(virtual_times(connection, source_ids))

    def of_a_job(self, reached: Mapping[str, int] | None = None, priority: int = 0) -> "Ranks":
        """Each job counts for itself: from the virtual times, or from where it got to before."""
        ranks = Ranks({})
        ranks._next.update(self._next)
        for source_id, rank in (reached or {}).items():
            place = int(source_id), priority
            ranks._next[place] = max(ranks._next[place], rank)
        return ranks

    def reached(self, sources: Collection[int], priority: int) -> dict[str, int]:
        return {str(i): self._next[i, priority] for i in sources}

    def take(self, source_id: int, priority: int) -> int:
        rank = self._next[source_id, priority] + 1
        self._next[source_id, priority] = rank
        return rank
