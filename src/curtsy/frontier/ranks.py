"""Ranks: the fair order of the visits of a source, and the rank of a visit in another source."""

from collections import defaultdict
from collections.abc import Collection, Mapping

import orjson

from curtsy.store import Connection, Statement

VirtualTimes = Mapping[int, Mapping[str, list[int]]]
"""By source and priority: the virtual time, and the floor below which no visit is read."""

_RANKS = Statement(
    "SELECT s.id, s.ranks FROM {wanted} JOIN sources s ON s.id = wanted.id",
    wanted={"id": "bigint"},
)


def virtual_times(connection: Connection, sources: Collection[int]) -> VirtualTimes:
    """The virtual times of the sources that have any; the others start at 0."""
    if not sources:
        return {}
    rows = _RANKS(connection, wanted=[(i,) for i in sources])
    return {i: orjson.loads(ranks) for i, ranks in rows if ranks != "{}"}


def carried_over(rank: int, priority: int, times: VirtualTimes, *, here: int, there: int) -> int:
    """The rank in source `there` that is as far from its virtual time as in source `here`: a visit
    below the virtual time would not be read."""
    before, after = (times.get(i, {}).get(str(priority), [0, 0])[0] for i in (here, there))
    return after + max(1, rank - before)


class Ranks:
    """Fair order: a page's rank is its source's virtual time plus its position in its job.

    Two jobs on one source therefore take turns, whatever their sizes. Each priority has its own
    virtual time: the rank of the last page of that priority that was visited.
    """

    def __init__(self, virtual_times: VirtualTimes) -> None:
        self._next: dict[tuple[int, int], int] = defaultdict(int)
        for source_id, by_priority in virtual_times.items():
            for priority, (virtual_time, _floor) in by_priority.items():
                self._next[source_id, int(priority)] = virtual_time

    @classmethod
    def read(cls, connection: Connection, source_ids: Collection[int]) -> "Ranks":
        """The virtual time of a source that is not in `source_ids` is 0."""
        return cls(virtual_times(connection, source_ids))

    def for_job(self, reached: Mapping[str, int] | None = None, priority: int = 0) -> "Ranks":
        """The ranks of one job: from the virtual times, or from the ranks it has reached before."""
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
