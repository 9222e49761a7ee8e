"""Terminates PostgreSQL sessions whose client process froze in the middle of a statement.

The server itself ends sessions that are idle in a transaction. A session whose client froze between
preparing and executing a statement counts as active, and would hold its locks for long.
"""

from curtsy.store.connection import Connection

FROZEN_SECONDS = 4
_END = f"""
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND application_name = 'curtsy'
      AND xact_start IS NOT NULL AND state = 'active' AND wait_event = 'ClientRead'
      AND state_change < clock_timestamp() - interval '{FROZEN_SECONDS} seconds'
    """  # noqa: S608


def terminate_frozen(connection: Connection) -> int:
    """Returns how many sessions were terminated. On SQLite a frozen process keeps its lock."""
    if connection.engine == "sqlite":
        return 0
    return int(connection.execute(_END).scalar_one())
