"""How sites were treated on some days, summed over the receipts of all sources."""

from datetime import date, timedelta

import orjson

from curtsy.clock import DAY
from curtsy.politeness.policy import Policy
from curtsy.reports.report import Courtesy, GapLine
from curtsy.store import Connection, Statement

MOST_LINES = 5
MOST_GAPS = 20_000
"""Sources whose gaps are compared with their policies, those with the smallest gaps first."""

_SUMS = Statement(
    """
    SELECT count(DISTINCT source_id) AS sources, coalesce(sum(requests), 0) AS requests,
           coalesce(sum(robots_refusals), 0) AS robots_refusals,
           coalesce(sum(rests_announced), 0) AS rests_announced,
           coalesce(sum(rests_of_our_own), 0) AS rests_of_our_own,
           coalesce(sum(not_modified), 0) AS not_modified,
           CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes,
           CAST(coalesce(sum(bytes_saved), 0) AS bigint) AS bytes_saved
    FROM receipts WHERE day >= :first AND day <= :last
    """
)
_GAPS = Statement(
    """
    SELECT s.name, s.policy, g.gap FROM (
        SELECT source_id, min(smallest_gap_ms) AS gap FROM receipts
        WHERE day >= :first AND day <= :last AND smallest_gap_ms IS NOT NULL
        GROUP BY source_id ORDER BY gap LIMIT :most) AS g
    JOIN sources s ON s.id = g.source_id
    """
)


def courtesy(connection: Connection, *, since: int, until: int, defaults: Policy) -> Courtesy:
    """Reads the receipts of all days (UTC) that the period touches."""
    days = {"first": since // DAY, "last": max(since, until - 1) // DAY}
    sums = _SUMS(connection, **days).one()
    gaps = [
        GapLine(row.name, row.gap, allowed)
        for row in _GAPS(connection, **days, most=MOST_GAPS)
        if (allowed := _allowed(row.policy, defaults)) > 0
    ]
    gaps.sort(key=lambda gap: (gap.smallest_gap_ms / gap.allowed_gap_ms, gap.source))
    return Courtesy(
        first_day=_iso(days["first"]), last_day=_iso(days["last"]), sources=sums.sources,
        requests=sums.requests, robots_refusals=sums.robots_refusals,
        rests_announced=sums.rests_announced, rests_of_our_own=sums.rests_of_our_own,
        not_modified=sums.not_modified, bytes=sums.bytes, bytes_saved=sums.bytes_saved,
        too_close=sum(gap.smallest_gap_ms < gap.allowed_gap_ms for gap in gaps),
        closest=tuple(gaps[:MOST_LINES]),
    )  # fmt: skip


def _allowed(policy: str, defaults: Policy) -> int:
    """The delay of a source's policy; 0: only concurrent requests are limited."""
    return int(orjson.loads(policy).get("min_delay", defaults.min_delay))


def _iso(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=day)).isoformat()
