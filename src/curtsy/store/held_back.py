"""What holds back PostgreSQL's upkeep: old transactions, for which it keeps replaced rows, and
replication slots, for which it keeps its log."""

from typing import NamedTuple

from curtsy.store.connection import Connection
from curtsy.store.dialects import Statement

OLD = 5 * 60 * 1000
"""Milliseconds; curtsy's own transactions take seconds."""
MOST = 5

_TRANSACTIONS = Statement(
    """
    SELECT pid, application_name, state,
           CAST(extract(epoch FROM clock_timestamp() - xact_start) * 1000 AS bigint) AS age
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
      AND pid <> pg_backend_pid() AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL
                                       OR state LIKE 'idle in transaction%')
      AND extract(epoch FROM clock_timestamp() - xact_start) * 1000 >= :oldest
    ORDER BY xact_start LIMIT :most
    """
)
_PREPARED = Statement(
    """
    SELECT gid FROM pg_prepared_xacts
    WHERE database = current_database()
      AND extract(epoch FROM clock_timestamp() - prepared) * 1000 >= :oldest
    ORDER BY prepared LIMIT :most
    """
)
_SLOTS = Statement(
    """
    SELECT slot_name, active, CAST(held AS bigint) AS held
    FROM (SELECT slot_name, active, pg_wal_lsn_diff(
              CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                   ELSE pg_current_wal_lsn() END, restart_lsn) AS held
          FROM pg_replication_slots WHERE restart_lsn IS NOT NULL) AS slots
    ORDER BY held DESC LIMIT :most
    """
)


class OpenTransaction(NamedTuple):
    pid: int
    """Of the server's process."""
    application: str
    state: str
    age: int
    """Milliseconds."""


class Slot(NamedTuple):
    name: str
    is_active: bool
    held_bytes: int


class HeldBack(NamedTuple):
    """The oldest transactions, prepared transactions, and the slots that hold most."""

    transactions: tuple[OpenTransaction, ...] = ()
    """Of this user, and of others as far as this user may see them."""
    prepared: tuple[str, ...] = ()
    slots: tuple[Slot, ...] = ()


def read_held_back(connection: Connection, *, oldest: int = OLD) -> HeldBack:
    """Reads transactions that are at least so old. On SQLite the size of the log tells as much."""
    if connection.engine == "sqlite":
        return HeldBack()
    old = {"oldest": oldest, "most": MOST}
    return HeldBack(
        tuple(OpenTransaction(row.pid, row.application_name or "", row.state or "", row.age)
              for row in _TRANSACTIONS(connection, **old)),
        tuple(_PREPARED(connection, **old).scalars()),
        tuple(Slot(row.slot_name, row.active, row.held) for row in _SLOTS(connection, most=MOST)),
    )  # fmt: skip
