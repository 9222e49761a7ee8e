"""What waits, band by band; to look costs the same however much that is.

The first ten thousand visits are counted as they lie, which most of the time is all of them. In a
deeper backlog that tells only which bands have much. A band that seems to have little is looked
for through its sources: a source is kept by its best band, so what is urgent is found at once.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from curtsy.model.jobs import Band, band_of
from curtsy.reports.throughput import Throughput, throughput
from curtsy.reports.workers import WorkerStatus, all_workers
from curtsy.store import Connection, Statement

COUNT_CAP = 10_000
MUCH = 1_000
"""A band with so many of the first visits is said to have more, and not looked for elsewhere."""
SOURCES_LOOKED_AT = 300
"""Of each band, those that are ready longest; and as many that workers hold."""
LEAST_OF_A_SOURCE = 10
PRIORITIES = range(1, 11)

Pages = Sequence[tuple[int]]


@dataclass(frozen=True, slots=True)
class BandQueue:
    """What waits in a band; without what is in flight, and what a paused source holds back."""

    waiting: int
    due_retries: int
    later_retries: int
    """Postponed to a moment that is yet to come."""
    oldest: int | None
    """When the page was asked for that waits longest, of those that could start."""
    capped: bool = False
    """More may wait; it was not counted."""
    retries_capped: bool = False


_STARTABLE = "coalesce(due_at, 0) <= :now"
_FIRST_VISITS = Statement(
    f"""
    SELECT priority, count(*) AS seen,
           sum(CASE WHEN due_at IS NULL AND waits THEN 1 ELSE 0 END) AS waiting,
           sum(CASE WHEN due_at <= :now AND waits THEN 1 ELSE 0 END) AS due,
           sum(CASE WHEN due_at > :now AND waits THEN 1 ELSE 0 END) AS later,
           min(CASE WHEN {_STARTABLE} AND waits THEN created_at END) AS oldest
    FROM (SELECT priority, due_at, created_at,
                 page_id NOT IN (SELECT page_id FROM {{in_flight}}) AS waits
          FROM (SELECT page_id, priority, due_at, created_at FROM visits
                ORDER BY page_id LIMIT :most) AS looked_at) AS counted
    GROUP BY priority
    """,  # noqa: S608
    in_flight={"page_id": "bigint"},
)
_READY_SOURCES = Statement(
    """
    SELECT id FROM sources
    WHERE owner IS NULL AND ready_at IS NOT NULL AND NOT paused AND band = :band
    ORDER BY ready_at LIMIT :most
    """
)
_LEASED_SOURCES = Statement("SELECT id FROM sources WHERE owner IS NOT NULL LIMIT :most")


def _through_sources(which: str) -> Statement:
    """Of each source the first visits of a sort, and of these the ones that wait in the band.

    As questions within the SELECT they are asked source by source, whatever the planner thinks of
    the table as a whole.
    """
    found = f"""
        (SELECT v.page_id, v.priority, v.due_at, v.created_at FROM visits v
         WHERE v.source_id = looked_at.source_id AND {which} LIMIT :most) AS found
        """  # noqa: S608
    ours = f"""
        {found} WHERE priority >= :best AND priority <= :worst
                  AND page_id NOT IN (SELECT page_id FROM {{in_flight}})
        """  # noqa: S608
    return Statement(
        f"""
        SELECT max(seen) AS deepest, coalesce(sum(startable), 0) AS startable,
               coalesce(sum(later), 0) AS later, min(oldest) AS oldest
        FROM (SELECT (SELECT count(*) FROM {found}) AS seen,
                     (SELECT count(*) FROM {ours} AND {_STARTABLE}) AS startable,
                     (SELECT count(*) FROM {ours} AND due_at > :now) AS later,
                     (SELECT min(created_at) FROM {ours} AND {_STARTABLE}) AS oldest
              FROM {{looked_at}}) AS of_each
        """,  # noqa: S608
        in_flight={"page_id": "bigint"},
        looked_at={"source_id": "bigint"},
    )


_READY = _through_sources(
    "v.due_at IS NULL AND v.priority >= :best AND v.priority <= :worst ORDER BY v.priority, v.rank"
)
_POSTPONED = _through_sources("v.due_at IS NOT NULL ORDER BY v.due_at")


def queue(
    connection: Connection, *, in_flight: Collection[int], now: int
) -> Mapping[Band, BandQueue]:
    """Each band's queue; `in_flight` are the pages that workers are busy with."""
    busy = [(page_id,) for page_id in in_flight]
    rows = list(_FIRST_VISITS(connection, in_flight=busy, now=now, most=COUNT_CAP + 1))
    of_band = {band: [row for row in rows if band_of(row.priority) is band] for band in Band}
    first = {band: _sum(of_band[band]) for band in Band}
    if sum(row.seen for row in rows) <= COUNT_CAP:
        return first
    has_much = {band for band in Band if sum(row.seen for row in of_band[band]) >= MUCH}
    sources = _Sources(connection)
    return {
        band: replace(counted, capped=True, retries_capped=True)
        if band in has_much
        else _look_for(connection, band, counted, sources, busy=busy, now=now)
        for band, counted in first.items()
    }


def _sum(rows: Sequence[Any]) -> BandQueue:
    return BandQueue(
        waiting=min(COUNT_CAP, sum(row.waiting for row in rows)),
        due_retries=sum(row.due for row in rows),
        later_retries=sum(row.later for row in rows),
        oldest=_earliest(row.oldest for row in rows),
    )


class _Sources:
    """Those with work, as far as they are looked at."""

    def __init__(self, connection: Connection) -> None:
        most = SOURCES_LOOKED_AT + 1
        self._leased = list(_LEASED_SOURCES(connection, most=most).scalars())
        self._ready = {
            band: list(_READY_SOURCES(connection, band=int(band), most=most).scalars())
            for band in Band
        }

    def up_to(self, band: Band) -> tuple[Pages, bool]:
        """Those that may have visits that wait in the band, and whether there are others."""
        found = [self._leased, *(ready for best, ready in self._ready.items() if best <= band)]
        more = any(len(some) > SOURCES_LOOKED_AT for some in found)
        return [(source_id,) for some in found for source_id in some], more


def _look_for(
    connection: Connection,
    band: Band,
    known: BandQueue,
    sources: _Sources,
    *,
    busy: Pages,
    now: int,
) -> BandQueue:
    """All of a band that has little; of one that has much after all, no less than is known."""
    within = [priority for priority in PRIORITIES if band_of(priority) is band]

    def asked(statement: Statement, looked_at: Pages, more_sources: bool) -> tuple[Any, bool]:
        most = max(LEAST_OF_A_SOURCE, COUNT_CAP // max(1, len(looked_at)))
        row = statement(connection, looked_at=looked_at, in_flight=busy, best=within[0],
                        worst=within[-1], now=now, most=most).one()  # fmt: skip
        return row, more_sources or (row.deepest or 0) >= most

    ready, capped = asked(_READY, *sources.up_to(band))
    # What is postponed makes no source urgent until somebody looks: it may be in any.
    postponed, retries_capped = asked(_POSTPONED, *sources.up_to(Band.LOW))
    return BandQueue(
        waiting=_at_least(ready.startable, known.waiting, capped),
        due_retries=_at_least(postponed.startable, known.due_retries, retries_capped),
        later_retries=_at_least(postponed.later, known.later_retries, retries_capped),
        oldest=_earliest([ready.oldest, postponed.oldest, known.oldest]),
        capped=capped,
        retries_capped=retries_capped,
    )


def _at_least(found: Any, known: int, capped: bool) -> int:
    number = int(found)  # a sum of counts is no whole number to PostgreSQL
    return max(number, known) if capped else number


def _earliest(moments: Iterable[int | None]) -> int | None:
    return min((at for at in moments if at is not None), default=None)


@dataclass(frozen=True, slots=True)
class QueueReport:
    at: int
    bands: Mapping[Band, BandQueue]
    live: Sequence[WorkerStatus]
    throughput: Throughput

    @property
    def in_flight(self) -> int:
        return sum(len(worker.in_flight) for worker in self.live)

    @property
    def startable(self) -> int:
        """All that waits for nothing but its turn."""
        return sum(band.waiting + band.due_retries for band in self.bands.values())

    @property
    def capped(self) -> bool:
        return any(band.capped or band.retries_capped for band in self.bands.values())

    @property
    def oldest(self) -> int | None:
        found = (band.oldest for band in self.bands.values())
        return min((at for at in found if at is not None), default=None)


def queue_report(connection: Connection, *, now: int) -> QueueReport:
    live = [worker for worker in all_workers(connection, now=now) if worker.alive]
    busy = [page_id for worker in live for page_id in worker.in_flight]
    return QueueReport(
        at=now,
        bands=queue(connection, in_flight=busy, now=now),
        live=live,
        throughput=throughput(connection, now=now),
    )
