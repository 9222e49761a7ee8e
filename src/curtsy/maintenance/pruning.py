"""What has expired goes: idempotency keys, and the sessions of browsers."""

from curtsy.store import Connection, Statement

BATCH = 1_000

_EXPIRED = tuple(
    # said twice, since a row may be claimed anew between the two
    Statement(
        f"""
        DELETE FROM {table} WHERE expires_at <= :now AND {key} IN (
            SELECT {key} FROM {table} WHERE expires_at <= :now ORDER BY expires_at LIMIT :most)
        """  # noqa: S608
    )
    for table, key in (("submissions", "key"), ("sessions", "hash"))
)


def prune_some(connection: Connection, *, now: int) -> int:
    """How many rows went; fewer than a batch: there is nothing left to prune."""
    return sum(int(gone(connection, now=now, most=BATCH).rowcount) for gone in _EXPIRED)
