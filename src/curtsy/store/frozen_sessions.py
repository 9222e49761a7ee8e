"""Ends transactions on PostgreSQL whose process stands still with half a statement told.

One that is idle in its transaction the server ends by itself. But one that froze between the two
halves of a statement, preparing and running, it calls active, and would leave its locks for long.
"""

from sqlalchemy import Connection, text

FROZEN_SECONDS = 4
_END = text(
    f"""
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND application_name = 'curtsy'
      AND xact_start IS NOT NULL AND state = 'active' AND wait_event = 'ClientRead'
      AND state_change < clock_timestamp() - interval '{FROZEN_SECONDS} seconds'
    """  # noqa: S608
)


def end_frozen(connection: Connection) -> int:
    """How many were ended. Whoever freezes with SQLite's file locked keeps it locked."""
    if connection.dialect.name == "sqlite":
        return 0
    return int(connection.execute(_END).scalar_one())
