"""What the runs of declared sites came to in a period."""

from typing import Any, NamedTuple

from curtsy.store import Connection, Lookup, Statement

SITES_READ = 1_000
RUNS_READ = 500
"""The newest of each site."""

_SITES = Statement("SELECT id, name FROM sites ORDER BY name LIMIT :most")
_NEWEST = Lookup(
    """
    SELECT site_id, created_at FROM jobs WHERE site_id = {each_id} AND site_id IS NOT NULL
    ORDER BY created_at DESC LIMIT 1
    """,
    each={"id": "bigint"},
)
_RUNS = Lookup(
    """
    SELECT {each_id} AS site_id, count(*) AS runs, min(created_at) AS since,
           sum(CASE WHEN state = 'succeeded' THEN 1 ELSE 0 END) AS succeeded,
           sum(CASE WHEN state = 'partial' THEN 1 ELSE 0 END) AS in_part,
           sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS failed,
           sum(CASE WHEN state = 'cancelled' THEN 1 ELSE 0 END) AS cancelled,
           sum(done) AS pages, sum(newest.failed) AS failed_pages, avg(took) AS mean_ms,
           max(took) AS longest_ms
    FROM (SELECT created_at, state, done, failed, finished_at - started_at AS took FROM jobs
          WHERE site_id = {each_id} AND site_id IS NOT NULL AND created_at >= :since
          ORDER BY created_at DESC LIMIT :most) AS newest
    """,
    each={"id": "bigint"},
)


class SiteRuns(NamedTuple):
    """The runs of a site that were created in a period, open ones included."""

    name: str
    since: int
    """Later than the period's beginning if there were more runs than are counted."""
    runs: int
    succeeded: int
    in_part: int
    """Runs with some failed pages."""
    failed: int
    cancelled: int
    pages: int
    """That ended well."""
    failed_pages: int
    mean_ms: int | None
    """Of finished runs, from the first request to the end."""
    longest_ms: int | None

    @property
    def success_rate(self) -> float | None:
        """Of pages."""
        ended = self.pages + self.failed_pages
        return self.pages / ended if ended else None


def site_runs(connection: Connection, *, since: int, most: int) -> list[SiteRuns]:
    """The sites that ran last come first. Of more than a thousand sites the first by name."""
    names = dict(_SITES(connection, most=SITES_READ).tuples())
    newest = [(at, site_id) for site_id, at in _NEWEST.tuples(connection, [(i,) for i in names])]
    chosen = [(site_id,) for at, site_id in sorted(newest, reverse=True) if at >= since][:most]
    found = {row.site_id: row for row in _RUNS(connection, chosen, since=since, most=RUNS_READ)}
    return [_runs_of(names[i], found[i], since) for (i,) in chosen if found[i].runs]


def _runs_of(name: str, row: Any, since: int) -> SiteRuns:
    """PostgreSQL returns sums and means as decimals."""
    return SiteRuns(
        name=name, since=row.since if row.runs >= RUNS_READ else since, runs=row.runs,
        succeeded=int(row.succeeded), in_part=int(row.in_part), failed=int(row.failed),
        cancelled=int(row.cancelled), pages=int(row.pages), failed_pages=int(row.failed_pages),
        mean_ms=round(row.mean_ms) if row.mean_ms is not None else None,
        longest_ms=row.longest_ms,
    )  # fmt: skip
