"""Runs of sites that ended in a period, and the records that they found; at a bounded cost."""

from collections import Counter, defaultdict
from typing import NamedTuple

from curtsy.clock import DAY
from curtsy.reports.report import ReportSites, SiteLine
from curtsy.store import Connection, Lookup, Statement

MOST_LINES = 10
MOST_RUNS = 500
"""Records of this many runs are counted, those of the newest;"""
MOST_SIGHTINGS = 1_000
"""and this many of each."""
LONGEST_RUN = 2 * DAY
"""Runs that began earlier before the period are not looked for."""

_RUNS = Statement(
    """
    SELECT s.id, s.name, count(*) AS runs,
           sum(CASE WHEN j.state IN ('failed', 'partial') THEN 1 ELSE 0 END) AS failed
    FROM sites s JOIN jobs j ON j.site_id = s.id
    WHERE j.site_id IS NOT NULL AND j.created_at >= :begun
      AND j.finished_at >= :since AND j.finished_at < :until
    GROUP BY s.id, s.name
    """
)
_NEWEST = Statement(
    """
    SELECT j.id, j.site_id FROM sites s JOIN jobs j ON j.site_id = s.id
    WHERE j.site_id IS NOT NULL AND j.created_at >= :begun AND j.gathered_at IS NOT NULL
      AND j.finished_at >= :since AND j.finished_at < :until
    ORDER BY j.id DESC LIMIT :most
    """
)
_CHANGES = Lookup(
    """
    SELECT {each_id} AS run_id, {each_site_id} AS site_id, change, count(*) AS number
    FROM (SELECT change FROM sightings WHERE job_id = {each_id}
          ORDER BY position LIMIT :most) AS first_sightings
    GROUP BY change
    """,
    each={"id": "bigint", "site_id": "bigint"},
)


class _Found(NamedTuple):
    by_site: dict[int, Counter[str]]
    """Records by their change."""
    capped: bool


def site_changes(connection: Connection, *, since: int, until: int) -> ReportSites:
    span = {"begun": since - LONGEST_RUN, "since": since, "until": until}
    runs = _RUNS(connection, **span).all()
    found = _records(connection, span)
    lines = [
        SiteLine(row.name, row.runs, row.failed, changes["new"], changes["changed"],
                 changes["removed"])
        for row in runs for changes in (found.by_site[row.id],)
    ]  # fmt: skip
    lines.sort(key=lambda line: (-line.failed_runs, -line.new - line.changed - line.removed,
                                 line.site))  # fmt: skip
    return ReportSites(
        runs=sum(line.runs for line in lines), failed_runs=sum(line.failed_runs for line in lines),
        new=sum(line.new for line in lines), changed=sum(line.changed for line in lines),
        removed=sum(line.removed for line in lines), capped=found.capped,
        lines=tuple(lines[:MOST_LINES]),
    )  # fmt: skip


def _records(connection: Connection, span: dict[str, int]) -> _Found:
    newest = _NEWEST(connection, **span, most=MOST_RUNS + 1).tuples()
    by_site: defaultdict[int, Counter[str]] = defaultdict(Counter)
    counted: Counter[int] = Counter()
    for row in _CHANGES(connection, list(newest[:MOST_RUNS]), most=MOST_SIGHTINGS):
        by_site[row.site_id][row.change] += row.number
        counted[row.run_id] += row.number
    too_many = len(newest) > MOST_RUNS or MOST_SIGHTINGS in counted.values()
    return _Found(by_site, too_many)
