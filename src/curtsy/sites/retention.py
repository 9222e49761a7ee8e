"""Deletes the old records and sightings of sites.

Age counts up to a site's last run, not up to now: the records that its next run is compared with do
not age while the site is not run. For each search the last complete run therefore stays, with its
sightings, until the site has been run for that long without it; and as long as a schedule exists,
its last run stays.
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
_DELETE_RECORDS = Statement(  # a run that saw such a record started before it was last seen
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
    WITH RECURSIVE sighted(job_id, n) AS (
        SELECT min(job_id), 1 FROM sightings WHERE job_id > :after
        UNION ALL
        SELECT (SELECT min(job_id) FROM sightings WHERE job_id > sighted.job_id), n + 1 FROM sighted
        WHERE sighted.job_id IS NOT NULL AND n < :most)
    SELECT sighted.job_id, (SELECT 1 FROM jobs j WHERE j.id = sighted.job_id) IS NULL AS is_gone
    FROM sighted WHERE sighted.job_id IS NOT NULL
    """
)
_DELETE_SIGHTINGS = Statement(
    """
    DELETE FROM sightings WHERE job_id = :job_id
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = :job_id)
      AND key IN (SELECT key FROM sightings WHERE job_id = :job_id LIMIT :most)
    """
)


class OldRecords(NamedTuple):
    """A site with records that were last seen before this instant."""

    site_id: int
    before: int


def sites_with_old_records(connection: Connection, *, keep: int) -> list[OldRecords]:
    sites = [row for row in _SITES(connection) if row.first_seen is not None]
    aged = [(row, max(row.last_seen, row.last_whole or 0) - keep) for row in sites]
    return [OldRecords(row.id, before) for row, before in aged if row.first_seen < before]


def delete_records(connection: Connection, old: OldRecords) -> int:
    """Deletes a batch and returns its size; less than `BATCH`: no more are left. Locks the site, so
    that no run is compared with its records meanwhile."""
    _LOCK_SITE(connection, site_id=old.site_id).all()
    deleted = _DELETE_RECORDS(connection, site_id=old.site_id, before=old.before, most=BATCH)
    return int(deleted.rowcount)


def deleted_runs(connection: Connection, after: int) -> tuple[list[int], int | None]:
    """Reads a batch of runs with sightings; returns those whose job is deleted, and where the next
    batch starts."""
    rows = list(_RUNS_SEEN(connection, after=after, most=BATCH))
    gone = [row.job_id for row in rows if row.is_gone]
    return gone, rows[-1].job_id if len(rows) == BATCH else None


def delete_sightings(connection: Connection, job_id: int) -> int:
    """Deletes a batch of the sightings of a deleted run; returns its size."""
    return int(_DELETE_SIGHTINGS(connection, job_id=job_id, most=BATCH).rowcount)
