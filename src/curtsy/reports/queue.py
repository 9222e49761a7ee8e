"""Counts what waits in each band, at a cost that does not grow with the backlog.

The first ten thousand visits are counted directly; usually they are all. In a deeper backlog that
count shows only which bands have many visits. The visits of a band that seems to have few are
counted source by source: sources are indexed by their best band, so urgent visits are found at
once.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from curtsy.model.job_states import Band, band_of
from curtsy.reports.throughput import Throughput, throughput
from curtsy.reports.workers import WorkerStatus, all_workers
from curtsy.store import Connection, Statement

COUNT_CAP = 10_000
MUCH = 1_000
"""A band with this many of the first visits is reported as capped and not counted by source."""
SOURCES_READ = 300
"""Sources read for each band, those ready longest first; and as many leased sources."""
LEAST_OF_A_SOURCE = 10
PRIORITIES = range(1, 11)

Ids = Sequence[tuple[int]]


@dataclass(frozen=True, slots=True)
class BandQueue:
    """The visits that wait in a band, without open requests and without paused sources."""

    waiting: int
    due_retries: int
    later_retries: int
    """Retries that are not due yet."""
    oldest: int | None
    """When the longest waiting visit that could start was created."""
    capped: bool = False
    """More visits may wait than were counted."""
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
                ORDER BY page_id LIMIT :most) AS first_visits) AS counted
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
    """Counts, among the first matching visits of each source, those that wait in a band.

    Subqueries in the SELECT list run source by source, whatever the planner's statistics of the
    whole table.
    """
    found = f"""
        (SELECT v.page_id, v.priority, v.due_at, v.created_at FROM visits v
         WHERE v.source_id = chosen.source_id AND {which} LIMIT :most) AS found
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
              FROM {{chosen}}) AS of_each
        """,  # noqa: S608
        in_flight={"page_id": "bigint"},
        chosen={"source_id": "bigint"},
    )


_READY = _through_sources(
    "v.due_at IS NULL AND v.priority >= :best AND v.priority <= :worst ORDER BY v.priority, v.rank"
)
_POSTPONED = _through_sources("v.due_at IS NOT NULL ORDER BY v.due_at")


class _PriorityCount(NamedTuple):
    """The first visits of one priority."""

    priority: int
    seen: int
    waiting: int
    due: int
    later: int
    oldest: int | None


class _SourcesCount(NamedTuple):
    """Visits of a band, counted source by source."""

    deepest: int
    """Visits read at the source with most of them."""
    startable: int
    later: int
    oldest: int | None


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
        """Visits that wait only for their turn."""
        return sum(band.waiting + band.due_retries for band in self.bands.values())

    @property
    def capped(self) -> bool:
        return any(band.capped or band.retries_capped for band in self.bands.values())

    @property
    def oldest(self) -> int | None:
        return _earliest(band.oldest for band in self.bands.values())


def queue_report(connection: Connection, *, now: int) -> QueueReport:
    live = [worker for worker in all_workers(connection, now=now) if worker.alive]
    open_pages = [page_id for worker in live for page_id in worker.in_flight]
    return QueueReport(
        at=now,
        bands=queue(connection, in_flight=open_pages, now=now),
        live=live,
        throughput=throughput(connection, now=now),
    )


def queue(
    connection: Connection, *, in_flight: Collection[int], now: int
) -> Mapping[Band, BandQueue]:
    """Each band's queue; `in_flight` are the pages whose requests are open."""
    open_pages = [(page_id,) for page_id in in_flight]
    rows = [_PriorityCount._make(row) for row in
            _FIRST_VISITS(connection, in_flight=open_pages, now=now,
                          most=COUNT_CAP + 1)]  # fmt: skip
    of_band = {band: [row for row in rows if band_of(row.priority) is band] for band in Band}
    first = {band: _sum(of_band[band]) for band in Band}
    if sum(row.seen for row in rows) <= COUNT_CAP:
        return first
    has_much = {band for band in Band if sum(row.seen for row in of_band[band]) >= MUCH}
    sources = _Sources(connection)
    return {
        band: replace(counted, capped=True, retries_capped=True)
        if band in has_much
        else _count_by_source(connection, band, counted, sources, open_pages=open_pages, now=now)
        for band, counted in first.items()
    }


def _sum(rows: Sequence[_PriorityCount]) -> BandQueue:
    return BandQueue(
        waiting=min(COUNT_CAP, sum(row.waiting for row in rows)),
        due_retries=sum(row.due for row in rows),
        later_retries=sum(row.later for row in rows),
        oldest=_earliest(row.oldest for row in rows),
    )


class _Sources:
    """Sources with work: up to a limit for each band, and leased ones."""

    def __init__(self, connection: Connection) -> None:
        most = SOURCES_READ + 1
        self._leased = list(_LEASED_SOURCES(connection, most=most).scalars())
        self._ready = {
            band: list(_READY_SOURCES(connection, band=int(band), most=most).scalars())
            for band in Band
        }

    def up_to(self, band: Band) -> tuple[Ids, bool]:
        """The sources that may have visits in the band, and whether there are others."""
        found = [self._leased, *(ready for best, ready in self._ready.items() if best <= band)]
        more = any(len(some) > SOURCES_READ for some in found)
        return [(source_id,) for some in found for source_id in some], more


def _count_by_source(
    connection: Connection,
    band: Band,
    known: BandQueue,
    sources: _Sources,
    *,
    open_pages: Ids,
    now: int,
) -> BandQueue:
    """Counts a band that seems to have few visits. If it has many, the count is capped and no less
    than `known`."""
    within = [priority for priority in PRIORITIES if band_of(priority) is band]

    def count(statement: Statement, chosen: Ids, more_sources: bool) -> tuple[_SourcesCount, bool]:
        most = max(LEAST_OF_A_SOURCE, COUNT_CAP // max(1, len(chosen)))
        row = statement(connection, chosen=chosen, in_flight=open_pages, best=within[0],
                        worst=within[-1], now=now, most=most).one()  # fmt: skip
        # PostgreSQL returns a sum of counts as a decimal.
        found = _SourcesCount(row.deepest or 0, int(row.startable), int(row.later), row.oldest)
        return found, more_sources or found.deepest >= most

    ready, capped = count(_READY, *sources.up_to(band))
    # Postponed visits do not change the band of their source, so any source may have them.
    postponed, retries_capped = count(_POSTPONED, *sources.up_to(Band.LOW))
    return BandQueue(
        waiting=_at_least(ready.startable, known.waiting, capped),
        due_retries=_at_least(postponed.startable, known.due_retries, retries_capped),
        later_retries=_at_least(postponed.later, known.later_retries, retries_capped),
        oldest=_earliest([ready.oldest, postponed.oldest, known.oldest]),
        capped=capped,
        retries_capped=retries_capped,
    )


def _at_least(found: int, known: int, capped: bool) -> int:
    return max(found, known) if capped else found


def _earliest(moments: Iterable[int | None]) -> int | None:
    return min((at for at in moments if at is not None), default=None)
