"""Deletes what has expired: idempotency keys, and the sessions of browsers."""

from curtsy.access import sessions
from curtsy.jobs import idempotency
from curtsy.store import Connection

BATCH = 1_000


def prune_some(connection: Connection, *, now: int) -> int:
    """Returns how many rows were deleted; fewer than a batch: nothing is left to prune."""
    return (idempotency.delete_expired(connection, now=now, most=BATCH)
            + sessions.delete_expired(connection, now=now, most=BATCH))  # fmt: skip
