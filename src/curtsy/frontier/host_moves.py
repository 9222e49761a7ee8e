"""Moves visits after their hosts from source to source.

The pages of the visits are locked first, as in every transaction that changes visits: without that,
a submit that joins some of the visits could deadlock with the move.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.ranks import carried_over, virtual_times
from curtsy.model.job_states import Band
from curtsy.model.urls import canonical
from curtsy.store import Connection, Statement

SETTLING = 120_000
"""For so long after hosts moved, visits that a submit put into their old source are moved, too."""

HOSTS = Statement(
    """
    SELECT h.host, h.source_id, s.name FROM hosts h JOIN sources s ON s.id = h.source_id
    WHERE h.host IN (SELECT host FROM {wanted}) OR h.source_id IN (SELECT id FROM {sources})
    ORDER BY h.host
    """,
    wanted={"host": "text"},
    sources={"id": "bigint"},
)
_VISITS = Statement(  # in two halves, one for each partial index
    """
    SELECT v.page_id, v.source_id, v.priority, v.rank, coalesce(v.current_url, p.url) AS url
    FROM visits v JOIN pages p ON p.id = v.page_id
    WHERE v.source_id IN (SELECT id FROM {sources}) AND v.due_at IS NULL
    UNION ALL
    SELECT v.page_id, v.source_id, v.priority, v.rank, coalesce(v.current_url, p.url) AS url
    FROM visits v JOIN pages p ON p.id = v.page_id
    WHERE v.source_id IN (SELECT id FROM {sources}) AND v.due_at IS NOT NULL
    """,
    sources={"id": "bigint"},
)
_MOVE = Statement(
    """
    UPDATE visits SET source_id = m.source_id, rank = m.rank FROM (SELECT * FROM {moved}) m
    WHERE visits.page_id = m.page_id
    """,
    moved={"page_id": "bigint", "source_id": "bigint", "rank": "bigint"},
)
_HOLD_BACK = Statement(  # the owner of a source that must wait would not learn it in time
    """
    UPDATE sources SET unreported = true, band = {least}(sources.band, w.band),
        epoch = sources.epoch + CASE WHEN w.not_before > :now AND sources.owner IS NOT NULL
                                     THEN 1 ELSE 0 END,
        owner = CASE WHEN w.not_before > :now THEN NULL ELSE sources.owner END,
        next_fetch_at = {greatest}(coalesce(next_fetch_at, 0), w.not_before),
        ready_at = {greatest}(coalesce(next_fetch_at, 0), w.not_before, :now), looks = 0
    FROM (SELECT * FROM {woken}) w WHERE sources.id = w.id
    """,
    woken={"id": "bigint", "band": "smallint", "not_before": "bigint"},
)
_UNSETTLED = Statement("SELECT id FROM sources WHERE hosts_moved_at > :since")
LOCK_DECLARATIONS = Statement("SELECT version FROM clock {lock}")
"""No other transaction declares sources, sites or schedules, or moves visits, until this ends."""
_LOCK_SOURCES = Statement(
    "SELECT id FROM sources WHERE id IN (SELECT id FROM {known}) ORDER BY id {lock}",
    known={"id": "bigint"},
)


class _Visit(NamedTuple):
    page_id: int
    source_id: int
    priority: int
    rank: int
    url: str


def move_late_visits(connection: Connection, *, now: int) -> int:
    """Moves visits that a submit, which saw the old source of a host, has put there since; returns
    how many."""
    sources = list(_UNSETTLED(connection, since=now - SETTLING).scalars())
    if not sources or not (late := _misplaced(connection, sources)):
        return 0
    LOCK_DECLARATIONS(connection)
    involved = {*sources, *(to for _visit, to in late)}
    _LOCK_SOURCES(connection, known=[(i,) for i in involved]).all()
    follow_hosts(connection, sources, now, locked=involved, not_before={})
    return len(late)


def follow_hosts(
    connection: Connection, sources: Collection[int], now: int, *, locked: Collection[int],
    not_before: Mapping[int, int],
) -> None:  # fmt: skip
    """Moves those visits of these sources whose host belongs to another source by now, and wakes
    their new sources. Visits of a source that this transaction has not locked are left to
    `move_late_visits`. `not_before` is when sources with new hosts may start a request."""
    moved = [(visit, to) for visit, to in _misplaced(connection, sources) if to in locked]
    if moved:
        lock_pages(connection, [visit.page_id for visit, _to in moved])
        times = virtual_times(connection, {*sources, *(to for _visit, to in moved)})
        _MOVE(connection, moved=[
            (v.page_id, to, carried_over(v.rank, v.priority, times, here=v.source_id, there=to))
            for v, to in moved
        ])  # fmt: skip
    woken = dict.fromkeys(not_before, int(Band.LOW)) | {to: int(Band.HIGH) for _visit, to in moved}
    rows = [(to, band, not_before.get(to, 0)) for to, band in sorted(woken.items())]
    if rows:
        _HOLD_BACK(connection, woken=rows, now=now)


def _misplaced(connection: Connection, sources: Collection[int]) -> list[tuple[_Visit, int]]:
    """Visits with the source that they belong to."""
    rows = _VISITS(connection, sources=[(i,) for i in sources])
    waiting = [(v, canonical(v.url).host) for v in map(_Visit._make, rows)]
    hosts = {host for _visit, host in waiting}
    source_of = {row.host: row.source_id for row in
                 HOSTS(connection, wanted=[(host,) for host in hosts], sources=[])}  # fmt: skip
    return [(v, source_of[host]) for v, host in waiting
            if source_of.get(host, v.source_id) != v.source_id]  # fmt: skip
