"""Predicts when a job ends: for each of its sources, from the rules that pace its requests."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from curtsy.politeness.forecast import start_of
from curtsy.politeness.pace import Pace, as_stored
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Lookup, Statement

MOST_PAGES = 100_000
"""Pages of a job that are read, and visits ahead of it at one source that are counted."""
MOST_SOURCES = 200
"""Sources of a job that are read: those with most of its pages."""
VISITS_READ_FOR_HOSTS = 2_000
"""Visits that are read to find which hosts of a source are waited for."""
PLACE = 10**15
"""A place in a source's order is one number: priority times this, plus rank."""

_BY_SOURCE = Statement(
    f"""
    SELECT v.source_id, count(*) AS pages, max(v.due_at) AS last_due,
           count(CASE WHEN v.due_at > :now THEN 1 END) AS later,
           min(CASE WHEN v.due_at > :now THEN v.due_at END) AS first_later,
           min(CASE WHEN v.due_at IS NULL THEN v.priority * {PLACE} + v.rank END) AS first,
           max(CASE WHEN v.due_at IS NULL THEN v.priority * {PLACE} + v.rank END) AS last
    FROM (SELECT page_id FROM items WHERE job_id = :job_id AND state = 0 LIMIT :most) i
    JOIN visits v ON v.page_id = i.page_id
    GROUP BY v.source_id ORDER BY pages DESC LIMIT :sources
    """  # noqa: S608
)
_SOURCES = Statement(
    """
    SELECT s.id, s.name, s.policy, s.paused, s.paused_by, s.owner, s.ready_at, s.next_fetch_at,
           s.pace, s.paced_at, s.fail_streak, s.unreported
    FROM {wanted} JOIN sources s ON s.id = wanted.id
    """,
    wanted={"id": "bigint"},
)
_AHEAD = Lookup(
    """
    SELECT CAST({each_source_id} AS bigint) AS source_id,
           CAST({each_place} AS bigint) AS place, count(*) AS visits
    FROM (SELECT 1 AS one FROM visits
          WHERE source_id = {each_source_id} AND due_at IS NULL
            AND (priority, rank) <= ({each_priority}, {each_rank}) LIMIT :most) AS before
    """,
    each={"source_id": "bigint", "place": "bigint", "priority": "smallint", "rank": "bigint"},
)
_DUE = Lookup(
    """
    SELECT CAST({each_source_id} AS bigint) AS source_id,
           CAST({each_place} AS bigint) AS place, count(*) AS visits
    FROM (SELECT 1 AS one FROM visits
          WHERE source_id = {each_source_id} AND due_at <= :now
            AND (priority, rank) <= ({each_priority}, {each_rank}) LIMIT :most) AS due
    """,
    each={"source_id": "bigint", "place": "bigint", "priority": "smallint", "rank": "bigint"},
)
_OPEN_OF_JOB = Statement(
    """
    SELECT open.source_id, count(*) AS pages FROM {open} JOIN items i
    ON i.page_id = open.page_id AND i.job_id = :job_id AND i.state = 0 GROUP BY open.source_id
    """,
    open={"source_id": "bigint", "page_id": "bigint"},
)
_ROBOTS_UNKNOWN = Statement(
    """
    SELECT h.source_id, count(*) AS hosts, min(h.host) AS host
    FROM {wanted} JOIN hosts h ON h.source_id = wanted.id
    WHERE coalesce(h.robots_expires_at, 0) <= :now GROUP BY h.source_id
    """,
    wanted={"id": "bigint"},
)
_UNKNOWN_AND_WAITING = Lookup(
    """
    SELECT DISTINCT CAST({each_source_id} AS bigint) AS source_id, h.host
    FROM (SELECT page_id FROM visits WHERE source_id = {each_source_id} LIMIT :most) AS v
    JOIN pages p ON p.id = v.page_id JOIN hosts h ON h.host = p.host
    WHERE coalesce(h.robots_expires_at, 0) <= :now
    """,
    each={"source_id": "bigint"},
)


class SourceRow(NamedTuple):
    id: int
    name: str
    policy: str
    paused: bool
    paused_by: str | None
    owner: str | None
    ready_at: int | None
    next_fetch_at: int | None
    pace: str | None
    paced_at: int | None
    fail_streak: int
    unreported: bool


class _PagesAtSource(NamedTuple):
    """The waiting pages of a job at one source."""

    source_id: int
    pages: int
    last_due: int | None
    later: int
    """Pages that wait for a retry."""
    first_later: int | None
    first: int | None
    """The place of the first page that does not wait for a retry."""
    last: int | None


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """A source and its pace as the database has them; times are instants."""

    row: SourceRow
    policy: Policy
    stored_pace: Mapping[str, Any]
    pace: Pace
    unknown_robots: frozenset[str]
    """Hosts that pages wait for and whose robots.txt must be fetched first."""
    open: frozenset[int] = frozenset()
    """Pages whose requests are open."""
    handed_over: bool = False
    """The source rests because its last owner may have sent requests that it never reported."""

    def start_of(self, n: int, now: int, *, also_unknown: Collection[str] = ()) -> int:
        """When the n-th visit from now is expected to start."""
        unknown = self.unknown_robots.union(also_unknown) if self.policy.robots else ()
        return start_of(self.pace, n + len(unknown), now, answer_ms=self.pace.strain.recent)

    def start_of_place(self, place: int, now: int, *, also_unknown: Collection[str] = ()) -> int:
        """The same for the visit that is the `place`-th by now, open visits included."""
        n = place - len(self.open)
        return self.start_of(n, now, also_unknown=also_unknown) if n > 0 else now


@dataclass(frozen=True, slots=True)
class SourceOutlook:
    snapshot: SourceSnapshot
    pages: int
    """Pages of the job that wait here."""
    ahead: int
    """Visits before the job's first page."""
    first_start_at: int
    last_start_at: int
    open: int = 0
    """Pages whose requests are open, out of `pages`."""
    later: int = 0
    """Pages that wait for a retry, out of `pages`."""
    first_later_at: int | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """The expected end of a job; the slowest source decides."""

    sources: Sequence[SourceOutlook]
    """The last to end comes first."""
    finish_at: int | None
    """None: no page of the job waits."""


def job_outlook(connection: Connection, job_id: int, defaults: Policy, *, now: int) -> Outlook:
    rows = _pages_by_source(connection, job_id, now)
    snapshots = source_snapshots(connection, [row.source_id for row in rows], defaults, now=now)
    places = {(row.source_id, at) for row in rows for at in (row.first, row.last)
              if at is not None}  # fmt: skip
    before = visits_up_to(connection, places, now=now)
    open_pages = [(i, page_id) for i, snapshot in snapshots.items() for page_id in snapshot.open]
    open_here = {row.source_id: row.pages for row in
                 _OPEN_OF_JOB(connection, open=open_pages, job_id=job_id)
                 } if open_pages else {}  # fmt: skip
    sources = [_outlook(row, snapshots[row.source_id], before, open_here.get(row.source_id, 0), now)
               for row in rows]  # fmt: skip
    sources.sort(key=lambda outlook: outlook.last_start_at, reverse=True)
    finish_at = None
    if sources:
        last = sources[0]
        finish_at = last.last_start_at + round(last.snapshot.pace.strain.recent)
    return Outlook(sources, finish_at)


def source_snapshots(
    connection: Connection, sources: Collection[int], defaults: Policy, *, now: int
) -> dict[int, SourceSnapshot]:
    wanted = [(i,) for i in sources]
    if not wanted:
        return {}
    unknown = _unknown_robots(connection, wanted, now)
    rows = [SourceRow._make(row)._replace(paused=bool(row.paused), unreported=bool(row.unreported))
            for row in _SOURCES(connection, wanted=wanted)]  # fmt: skip
    return {row.id: _snapshot(row, defaults, unknown.get(row.id, frozenset()), now)
            for row in rows}  # fmt: skip


def visits_up_to(
    connection: Connection, places: Collection[tuple[int, int]], *, now: int
) -> dict[tuple[int, int], int]:
    """By source and place in its order: the number of visits up to and including that place, due
    retries included."""
    if not places:
        return {}
    wanted = [(i, at, *divmod(at, PLACE)) for i, at in sorted(places)]
    due = {(row.source_id, row.place): row.visits for row in
           _DUE(connection, wanted, now=now, most=MOST_PAGES)}  # fmt: skip
    return {(row.source_id, row.place): row.visits + due.get((row.source_id, row.place), 0)
            for row in _AHEAD(connection, wanted, most=MOST_PAGES)}  # fmt: skip


def _pages_by_source(connection: Connection, job_id: int, now: int) -> list[_PagesAtSource]:
    rows = _BY_SOURCE(connection, job_id=job_id, most=MOST_PAGES, sources=MOST_SOURCES, now=now)
    return [_PagesAtSource._make(row) for row in rows]


def _outlook(
    row: _PagesAtSource, snapshot: SourceSnapshot, before: Mapping[tuple[int, int], int],
    open_here: int, now: int,
) -> SourceOutlook:  # fmt: skip
    if open_here >= row.pages:
        return SourceOutlook(snapshot, row.pages, 0, now, now, open_here)
    ready, first_later = row.pages - row.later, row.first_later
    first = before.get((row.source_id, row.first or 0), 1)
    last = before.get((row.source_id, row.last or 0), ready)
    starts = (snapshot.start_of_place(first, now) if ready
              else snapshot.start_of(1, first_later or now))  # fmt: skip
    ends = snapshot.start_of_place(last + row.later, now) if ready else 0
    if first_later is not None:
        ends = max(ends, snapshot.start_of(row.later, first_later),
                   snapshot.start_of(1, row.last_due or 0))  # fmt: skip
    ahead = max(0, first - 1 - len(snapshot.open))
    return SourceOutlook(
        snapshot, row.pages, ahead, starts, ends, open_here, row.later, first_later
    )


def _unknown_robots(
    connection: Connection, wanted: Sequence[tuple[int]], now: int
) -> dict[int, frozenset[str]]:
    """Hosts without a fresh robots.txt, by source. For a source with several such hosts, only
    those that visits wait for."""
    rows = list(_ROBOTS_UNKNOWN(connection, wanted=wanted, now=now))
    unknown = {row.source_id: frozenset([row.host]) for row in rows if row.hosts == 1}
    if many := [(row.source_id,) for row in rows if row.hosts > 1]:
        waited_for = _UNKNOWN_AND_WAITING(connection, many, now=now, most=VISITS_READ_FOR_HOSTS)
        for row in waited_for:
            unknown[row.source_id] = unknown.get(row.source_id, frozenset()) | {row.host}
    return unknown


def _snapshot(
    row: SourceRow, defaults: Policy, unknown_robots: frozenset[str], now: int
) -> SourceSnapshot:
    policy = defaults.with_overrides(orjson.loads(row.policy))
    stored = orjson.loads(row.pace) if row.pace else {}
    pace = as_stored(policy, stored, paced_at=row.paced_at, next_fetch_at=row.next_fetch_at)
    pace.resting = row.fail_streak > 0
    next_fetch_at = row.next_fetch_at or 0
    opens_at = policy.hours.opens_at(now) if policy.hours is not None else now
    handed_over = row.unreported and next_fetch_at > max(pace.next_at, opens_at)
    if handed_over:
        pace.rest(next_fetch_at)
    open_pages = frozenset(stored.get("open", ()) if row.owner is not None else ())
    return SourceSnapshot(row, policy, stored, pace, unknown_robots, open_pages, handed_over)
