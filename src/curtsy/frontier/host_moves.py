"""Visits that follow their hosts from source to source. Their pages are held first, as by everyone
who changes visits: a submit that joins some of them would meet us half-way."""

from collections.abc import Collection, Mapping
from typing import Any

from curtsy.frontier.flush_rows import lock_pages
from curtsy.frontier.ranks import carried_over, virtual_times
from curtsy.model.jobs import Band
from curtsy.model.urls import canonical
from curtsy.store import Connection, Statement

SETTLING = 120_000
"""So long after hosts moved, what a submit put into their old source is moved after them."""

HOSTS = Statement(
    """
    SELECT h.host, h.source_id, s.name FROM hosts h JOIN sources s ON s.id = h.source_id
    WHERE h.host IN (SELECT host FROM {wanted}) OR h.source_id IN (SELECT id FROM {sources})
    ORDER BY h.host
    """,
    wanted={"host": "text"},
    sources={"id": "bigint"},
)
_VISITS = Statement(  # in halves, as the indexes have them
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
_HOLD_BACK = Statement(  # whoever holds one that must wait would not hear of it in time
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
ALONE = Statement("SELECT version FROM clock {lock}")
"""Nobody else describes sources, or moves their visits, until the transaction ends."""
_LOCK = Statement(
    "SELECT id FROM sources WHERE id IN (SELECT id FROM {known}) ORDER BY id {lock}",
    known={"id": "bigint"},
)


def move_late_visits(connection: Connection, *, now: int) -> int:
    """What a submit that saw the old source of a host put there since; returns how many."""
    sources = list(_UNSETTLED(connection, since=now - SETTLING).scalars())
    if not sources or not (late := _misplaced(connection, sources)):
        return 0
    ALONE(connection)
    involved = {*sources, *(to for _visit, to in late)}
    _LOCK(connection, known=[(i,) for i in involved]).all()
    follow_hosts(connection, sources, now, held=involved, not_before={})
    return len(late)


def follow_hosts(
    connection: Connection, sources: Collection[int], now: int, *, held: Collection[int],
    not_before: Mapping[int, int],
) -> None:  # fmt: skip
    """Of these sources, the visits whose host is another's by now; their new sources wake. What
    belongs to one that this transaction does not hold is left for `move_late_visits`."""
    moved = [(visit, to) for visit, to in _misplaced(connection, sources) if to in held]
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


def _misplaced(connection: Connection, sources: Collection[int]) -> list[tuple[Any, int]]:
    """Visits, and where they belong."""
    waiting = [(v, canonical(v.url).host) for v in
               _VISITS(connection, sources=[(i,) for i in sources])]  # fmt: skip
    hosts = {host for _visit, host in waiting}
    source_of = {row.host: row.source_id for row in
                 HOSTS(connection, wanted=[(host,) for host in hosts], sources=[])}  # fmt: skip
    return [(v, source_of[host]) for v, host in waiting
            if source_of.get(host, v.source_id) != v.source_id]  # fmt: skip
