"""When a job may be expected to end: source by source, by the rules that pace them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from curtsy.politeness.forecast import start_of
from curtsy.politeness.pace import Pace, as_stored
from curtsy.politeness.policy import Policy
from curtsy.store import Connection, Lookup, Statement

MOST_PAGES = 100_000
"""Of a job, and ahead of it on a source: what is more is not looked at."""
MOST_SOURCES = 200
"""Those with the most of its pages."""
LOOKED_AT_FOR_HOSTS = 2_000
"""Visits of a source with many hosts."""
PLACE = 10**15
"""A place in a source's order, as one number: priority times this, plus rank."""

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
           s.pace, s.paced_at, s.fail_streak, s.failing_since, s.crash_streak, s.unreported
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


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """A source and its pace, as the store has them; times are instants."""

    row: Any
    policy: Policy
    kept: Mapping[str, Any]
    pace: Pace
    unknown_robots: frozenset[str]
    """Hosts that pages wait for, and whose robots.txt must be asked for first."""
    open: frozenset[int] = frozenset()
    """Pages that are being asked for."""
    handed_over: bool = False
    """It rests since its last owner may have asked more than it told."""

    def start_of(self, n: int, now: int, *, also_unknown: Collection[str] = ()) -> int:
        """When the n-th visit from now may be expected to start."""
        unknown = self.unknown_robots.union(also_unknown) if self.policy.robots else ()
        return start_of(self.pace, n + len(unknown), now, answer_ms=self.pace.strain.recent)

    def start_of_place(self, place: int, now: int, *, also_unknown: Collection[str] = ()) -> int:
        """The same of the visit that is the `place`-th by now, those that are open included."""
        n = place - len(self.open)
        return self.start_of(n, now, also_unknown=also_unknown) if n > 0 else now


@dataclass(frozen=True, slots=True)
class SourceOutlook:
    snapshot: SourceSnapshot
    pages: int
    """Of the job, that wait here."""
    ahead: int
    """Visits that go before the job's first."""
    first_start_at: int
    last_start_at: int
    open: int = 0
    """Of its pages, those that are being asked for."""
    later: int = 0
    """Of its pages, those that wait for another try."""
    first_later_at: int | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """Of one job: the slowest source decides."""

    sources: Sequence[SourceOutlook]
    """The last to end first."""
    finish_at: int | None
    """None: nothing of it waits."""


def job_outlook(connection: Connection, job_id: int, defaults: Policy, *, now: int) -> Outlook:
    rows = list(_BY_SOURCE(connection, job_id=job_id, most=MOST_PAGES, sources=MOST_SOURCES,
                           now=now))  # fmt: skip
    snapshots = source_snapshots(connection, [row.source_id for row in rows], defaults, now=now)
    places = {(row.source_id, int(at)) for row in rows for at in (row.first, row.last)
              if at is not None}  # fmt: skip
    before = visits_up_to(connection, places, now=now)
    asked = [(i, page_id) for i, snapshot in snapshots.items() for page_id in snapshot.open]
    is_open = {row.source_id: row.pages for row in
               _OPEN_OF_JOB(connection, open=asked, job_id=job_id)} if asked else {}  # fmt: skip
    found = [_of_source(row, snapshots[row.source_id], before, is_open.get(row.source_id, 0), now)
             for row in rows]  # fmt: skip
    found.sort(key=lambda outlook: outlook.last_start_at, reverse=True)
    finish_at = None
    if found:
        last = found[0]
        finish_at = last.last_start_at + round(last.snapshot.pace.strain.recent)
    return Outlook(found, finish_at)


def _of_source(
    row: Any, snapshot: SourceSnapshot, before: Mapping[tuple[int, int], int], is_open: int,
    now: int,
) -> SourceOutlook:  # fmt: skip
    if is_open >= row.pages:
        return SourceOutlook(snapshot, row.pages, 0, now, now, is_open)
    ready, first_later = row.pages - row.later, row.first_later
    first = before.get((row.source_id, int(row.first or 0)), 1)
    last = before.get((row.source_id, int(row.last or 0)), ready)
    starts = snapshot.start_of_place(first, now) if ready else snapshot.start_of(1, first_later)
    ends = snapshot.start_of_place(last + row.later, now) if ready else 0
    if row.later:
        ends = max(ends, snapshot.start_of(row.later, first_later),
                   snapshot.start_of(1, row.last_due))  # fmt: skip
    ahead = max(0, first - 1 - len(snapshot.open))
    return SourceOutlook(snapshot, row.pages, ahead, starts, ends, is_open, row.later, first_later)


def source_snapshots(
    connection: Connection, sources: Collection[int], defaults: Policy, *, now: int
) -> dict[int, SourceSnapshot]:
    wanted = [(i,) for i in sources]
    if not wanted:
        return {}
    unknown = _unknown_robots(connection, wanted, now)
    rows = _SOURCES(connection, wanted=wanted)
    return {row.id: _standing_of(row, defaults, unknown.get(row.id, frozenset())) for row in rows}


def _unknown_robots(
    connection: Connection, wanted: Sequence[tuple[int]], now: int
) -> dict[int, frozenset[str]]:
    """By source. Of one with many hosts, those that something waits for."""
    rows = list(_ROBOTS_UNKNOWN(connection, wanted=wanted, now=now))
    unknown = {row.source_id: frozenset([row.host]) for row in rows if row.hosts == 1}
    if many := [(row.source_id,) for row in rows if row.hosts > 1]:
        found = _UNKNOWN_AND_WAITING(connection, many, now=now, most=LOOKED_AT_FOR_HOSTS)
        for row in found:
            unknown[row.source_id] = unknown.get(row.source_id, frozenset()) | {row.host}
    return unknown


def _standing_of(row: Any, defaults: Policy, unknown_robots: frozenset[str]) -> SourceSnapshot:
    """Of a row of `sources` with the columns that tell of its pace."""
    policy = defaults.with_overrides(orjson.loads(row.policy))
    kept = orjson.loads(row.pace) if row.pace else {}
    pace = as_stored(policy, kept, paced_at=row.paced_at, next_fetch_at=row.next_fetch_at)
    pace.resting = row.fail_streak > 0
    handed_over = bool(row.unreported) and (row.next_fetch_at or 0) > pace.next_at
    if handed_over:
        pace.rest(row.next_fetch_at)
    is_open = frozenset(kept.get("open", ()) if row.owner is not None else ())
    return SourceSnapshot(row, policy, kept, pace, unknown_robots, is_open, handed_over)


def visits_up_to(
    connection: Connection, places: Collection[tuple[int, int]], *, now: int
) -> dict[tuple[int, int], int]:
    """By source and place in its order: how many visits there are up to it, itself included, as
    well as retries that are due."""
    if not places:
        return {}
    asked = [(i, at, *divmod(at, PLACE)) for i, at in sorted(places)]
    due = {(row.source_id, row.place): row.visits for row in
           _DUE(connection, asked, now=now, most=MOST_PAGES)}  # fmt: skip
    return {(row.source_id, row.place): row.visits + due.get((row.source_id, row.place), 0)
            for row in _AHEAD(connection, asked, most=MOST_PAGES)}  # fmt: skip
