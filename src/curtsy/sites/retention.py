"""What is kept for so many days and no longer: jobs, and what the runs of sites found.

A site's own time counts: what its next run is compared with does not age while it is not run. So of
each search the last whole run stays, with what it saw, until the site was run for so long without
it; and for as long as there is a schedule, its last.
"""

from typing import NamedTuple

from curtsy.store import Connection, Statement

BATCH = 1_000

_SITES = Statement(
    """
    SELECT s.id, (SELECT min(last_seen_at) FROM records r WHERE r.site_id = s.id) AS first_seen,
           (SELECT max(last_seen_at) FROM records r WHERE r.site_id = s.id) AS last_seen,
           (SELECT j.gathered_at FROM jobs j WHERE j.site_id = s.id AND j.site_id IS NOT NULL
              AND j.state = 'succeeded' AND j.gathered_at IS NOT NULL
            ORDER BY j.created_at DESC LIMIT 1) AS last_whole
    FROM sites s
    """
)
_LOCK_SITE = Statement("SELECT id FROM sites WHERE id = :site_id {lock}")
_FORGET_RECORDS = Statement(  # a run that saw such a record began before it was last seen
    """
    DELETE FROM records WHERE site_id = :site_id AND key IN (
        SELECT r.key FROM records r WHERE r.site_id = :site_id AND r.last_seen_at < :before
          AND NOT EXISTS (
            SELECT 1 FROM jobs j JOIN sightings s ON s.job_id = j.id AND s.key = r.key
            WHERE j.site_id = :site_id AND j.site_id IS NOT NULL AND j.created_at < :before
              AND s.change <> 'removed')
        ORDER BY r.last_seen_at LIMIT :most)
    """
)
_RUNS_SEEN = Statement(
    """
    WITH RECURSIVE told(job_id, n) AS (
        SELECT min(job_id), 1 FROM sightings WHERE job_id > :after
        UNION ALL
        SELECT (SELECT min(job_id) FROM sightings WHERE job_id > told.job_id), n + 1 FROM told
        WHERE told.job_id IS NOT NULL AND n < :most)
    SELECT told.job_id, (SELECT 1 FROM jobs j WHERE j.id = told.job_id) IS NULL AS is_gone
    FROM told WHERE told.job_id IS NOT NULL
    """
)
_FORGET_SIGHTINGS = Statement(
    """
    DELETE FROM sightings WHERE job_id = :job_id
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = :job_id)
      AND key IN (SELECT key FROM sightings WHERE job_id = :job_id LIMIT :most)
    """
)


class OldRecords(NamedTuple):
    site_id: int
    before: int


def sites_with_old_records(connection: Connection, *, keep: int) -> list[OldRecords]:
    seen = [row for row in _SITES(connection) if row.first_seen is not None]
    aged = [(row, max(row.last_seen, row.last_whole or 0) - keep) for row in seen]
    return [OldRecords(row.id, before) for row, before in aged if row.first_seen < before]


def forget_records(connection: Connection, old: OldRecords) -> int:
    """How many went; fewer than a batch: no more are to. Nobody compares with them meanwhile."""
    _LOCK_SITE(connection, site_id=old.site_id).all()
    gone = _FORGET_RECORDS(connection, site_id=old.site_id, before=old.before, most=BATCH)
    return int(gone.rowcount)


def runs_gone(connection: Connection, after: int) -> tuple[list[int], int | None]:
    """Of a batch of runs with sightings: those that are no more; and where the next begins."""
    rows = list(_RUNS_SEEN(connection, after=after, most=BATCH))
    gone = [row.job_id for row in rows if row.is_gone]
    return gone, rows[-1].job_id if len(rows) == BATCH else None


def forget_sightings(connection: Connection, job_id: int) -> int:
    """Of a run that is gone, a batch; how many went."""
    return int(_FORGET_SIGHTINGS(connection, job_id=job_id, most=BATCH).rowcount)
