"""Jobs that are older than results are kept."""

from curtsy.store import Connection, Statement

_LATER = """
    SELECT 1 FROM jobs k WHERE k.site_id = j.site_id AND k.site_id IS NOT NULL
      AND k.state = 'succeeded' AND k.gathered_at IS NOT NULL AND k.created_at > j.created_at
"""
_OLD_JOBS = Statement(
    f"""
    SELECT j.public_id FROM jobs j WHERE j.created_at < :before AND j.finished_at < :before
      AND NOT (j.site_id IS NOT NULL AND j.state = 'succeeded' AND j.gathered_at IS NOT NULL
               AND EXISTS (SELECT 1 FROM sites s WHERE s.id = j.site_id)
               AND (NOT EXISTS ({_LATER} AND (k.search = j.search
                                              OR k.created_at - j.created_at > :keep))
                    OR (EXISTS (SELECT 1 FROM schedules c WHERE c.id = j.schedule_id)
                        AND NOT EXISTS ({_LATER} AND k.schedule_id = j.schedule_id))))
    ORDER BY j.created_at LIMIT :most
    """  # noqa: S608
)


def old_jobs(connection: Connection, *, keep: int, now: int, most: int) -> list[str]:
    return list(_OLD_JOBS(connection, before=now - keep, keep=keep, most=most).scalars())
