"""Deletes what subscriptions no longer need: entries that their feed or sitemap has not listed for
long, and the memory of what nobody follows any more.

An entry ages up to the last run of its subscription, not up to now: the next run of a schedule that
rested for a year still knows what it has seen. The entries of a sitemap that was not read because
it has not changed stay as long as an index lists the sitemap.
"""

from typing import NamedTuple

from curtsy.clock import DAY
from curtsy.store import Connection, Statement

KEPT = 400 * DAY
BATCH = 1_000
"""Entries that one transaction looks at."""

_NEXT = Statement(
    """
    SELECT s.id, s.last_run_at, s.last_run_at < :before AND NOT EXISTS (
        SELECT 1 FROM schedules c WHERE c.id = s.schedule_id) AS is_over
    FROM subscriptions s WHERE s.id > :after ORDER BY s.id LIMIT :most
    """
)
_LOCK = Statement("SELECT id, last_run_at FROM subscriptions WHERE id = :id {lock}")
_SLICE = Statement(
    """
    SELECT s.entry, s.listed_at < :before AND NOT EXISTS (
        SELECT 1 FROM seen_entries l WHERE l.subscription_id = :id AND l.entry = s.found_in
          AND l.listed_at >= :before) AS is_old
    FROM seen_entries s WHERE s.subscription_id = :id AND s.entry > :after
    ORDER BY s.entry LIMIT :most
    """
)
_DELETE = Statement(
    "DELETE FROM seen_entries WHERE subscription_id = :id AND entry IN (SELECT entry FROM {gone})",
    gone={"entry": "text"},
)
_DELETE_SUBSCRIPTION = Statement("DELETE FROM subscriptions WHERE id = :id")


class Followed(NamedTuple):
    id: int
    last_run_at: int
    is_over: bool
    """Nobody has followed the feed or sitemap for long, and no schedule will."""


class Looked(NamedTuple):
    deleted: int
    last: str | None
    """The last entry that was looked at; None: there are no more."""


def next_subscriptions(connection: Connection, after: int, *, now: int) -> list[Followed]:
    rows = _NEXT(connection, after=after, before=now - KEPT, most=BATCH)
    return [Followed(row.id, row.last_run_at, bool(row.is_over)) for row in rows]


def delete_old_entries(connection: Connection, followed: Followed, *, after: str) -> Looked:
    """Looks at the next entries of the subscription. Deletes nothing of one that ran meanwhile."""
    locked = _LOCK(connection, id=followed.id).one_or_none()
    if locked is None or locked.last_run_at != followed.last_run_at:
        return Looked(0, None)
    rows = _SLICE(connection, id=followed.id, after=after, before=followed.last_run_at - KEPT,
                  most=BATCH).all()  # fmt: skip
    old = [(row.entry,) for row in rows if followed.is_over or row.is_old]
    if old:
        _DELETE(connection, id=followed.id, gone=old)
    if len(rows) == BATCH:
        return Looked(len(old), rows[-1].entry)
    if followed.is_over:
        _DELETE_SUBSCRIPTION(connection, id=followed.id)
    return Looked(len(old), None)
