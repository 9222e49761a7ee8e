"""Subscriptions: what the runs of a schedule, or a user's jobs, have seen of a feed or a sitemap.

An entry is admitted if it was not seen before, if it says that it changed since, or if the page
that it became was cancelled before it was fetched. What failed is in the dead letters and is
retried there.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from curtsy.clock import rfc3339
from curtsy.frontier.admit import Wanted
from curtsy.model.job_states import ItemState
from curtsy.store import Connection, Statement

DAY = 24 * 3_600_000
"""How exactly it is known when an entry was listed last: not each run writes each entry."""

_INSERT = Statement(
    """
    INSERT INTO subscriptions (key, user_id, schedule_id, url, scraper, created_at, last_run_at)
    SELECT key, user_id, schedule_id, url, scraper, :now, :now FROM {new} WHERE true
    ON CONFLICT (key) DO NOTHING
    """,
    new={"key": "text", "user_id": "text", "schedule_id": "bigint", "url": "text",
         "scraper": "text"},
)  # fmt: skip
_IDS = Statement(
    "SELECT s.key, s.id FROM {wanted} JOIN subscriptions s ON s.key = wanted.key",
    wanted={"key": "text"},
)
_LOCK = Statement("SELECT id FROM subscriptions WHERE id = :id {lock}")
_RAN = Statement("UPDATE subscriptions SET last_run_at = :now WHERE id = :id")
_SEEN = Statement(
    """
    SELECT s.entry, s.stamp, s.whole, s.listed_at, i.state FROM {wanted}
    JOIN seen_entries s ON s.subscription_id = :id AND s.entry = wanted.entry
    LEFT JOIN items i ON i.job_id = s.job_id AND i.position = s.position
    """,
    wanted={"entry": "text"},
)
_REMEMBER = Statement(
    """
    INSERT INTO seen_entries (subscription_id, entry, stamp, job_id, position, found_in, listed_at)
    SELECT :id, entry, stamp, :job_id, position, :found_in, :now FROM {new} WHERE true
    ON CONFLICT (subscription_id, entry) DO UPDATE SET stamp = excluded.stamp,
        job_id = excluded.job_id, position = excluded.position, found_in = excluded.found_in,
        whole = false, listed_at = excluded.listed_at
    """,
    new={"entry": "text", "stamp": "text", "position": "int"},
)
_LISTED_AGAIN = Statement(
    """
    UPDATE seen_entries SET listed_at = :now
    WHERE subscription_id = :id AND entry IN (SELECT entry FROM {listed})
    """,
    listed={"entry": "text"},
)
_MARK_WHOLE = Statement(
    "UPDATE seen_entries SET whole = true WHERE subscription_id = :id AND entry = :entry"
)


class NewSubscription(NamedTuple):
    key: str
    user_id: str | None
    schedule_id: int | None
    url: str
    scraper: str


class Entry(NamedTuple):
    """A page that a feed or a sitemap lists."""

    page: Wanted
    key: str
    """Identifies the entry, whatever its URL is at the moment."""
    stamp: str
    """When the entry changed, as it says itself, in a form that sorts; empty: it does not say."""
    is_list: bool = False
    """The page is a sitemap or feed itself."""


class _Seen(NamedTuple):
    stamp: str
    whole: bool
    listed_at: int
    state: int | None
    """Of the item that the entry became; None: its job was purged."""


def subscription_of(
    url: str, scraper: str, *, user_id: str | None, schedule_id: int | None
) -> NewSubscription:
    """The subscription of a schedule to this feed or sitemap, or that of a user's other jobs."""
    whose = f"schedule {schedule_id}" if schedule_id is not None else f"user {user_id or ''}"
    key = hash_of(f"{whose}\0{scraper}\0{url}")
    return NewSubscription(key, user_id, schedule_id, url, scraper)


def hash_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def insert_subscriptions(
    connection: Connection, new: Iterable[NewSubscription], *, now: int
) -> dict[str, int]:
    """Inserts those that do not exist; returns the ids of all by key. Locks none that exists:
    sources are locked before subscriptions."""
    by_key = {one.key: one for one in new}
    if not by_key:
        return {}
    _INSERT(connection, new=[tuple(by_key[key]) for key in sorted(by_key)], now=now)
    return {row.key: row.id for row in _IDS(connection, wanted=[(key,) for key in by_key])}


def lock_subscription(connection: Connection, subscription_id: int, *, now: int) -> None:
    """Two jobs with one subscription admit its entries one after the other."""
    _LOCK(connection, id=subscription_id).one_or_none()
    _RAN(connection, id=subscription_id, now=now)


def unseen(
    connection: Connection, subscription_id: int, entries: Sequence[Entry], *, now: int
) -> list[Entry]:
    """The entries that are to be fetched. The subscription is locked."""
    rows = _SEEN(connection, id=subscription_id, wanted=[(entry.key,) for entry in entries])
    seen = {row.entry: _Seen(row.stamp, bool(row.whole), row.listed_at, row.state) for row in rows}
    old = [(key,) for key, one in seen.items() if one.listed_at < now - DAY]
    if old:
        _LISTED_AGAIN(connection, id=subscription_id, listed=old, now=now)
    today = rfc3339(now)
    return [entry for entry in entries if _is_wanted(entry, seen.get(entry.key), today)]


def _is_wanted(entry: Entry, seen: _Seen | None, now: str) -> bool:
    if seen is None or seen.state == ItemState.CANCELLED:
        return True
    if seen.stamp > now:  # a date that had not come yet: any other one corrects it
        return entry.stamp != seen.stamp
    if entry.is_list:  # without a date it may have changed; in part, it was cut off
        return not (entry.stamp and entry.stamp <= seen.stamp and seen.whole)
    return entry.stamp > seen.stamp


def remember(
    connection: Connection, subscription_id: int, entries: Sequence[Entry], *, found_in: str,
    job_id: int, now: int,
) -> None:  # fmt: skip
    """Remembers entries that were admitted, at the positions of their pages in the job. `found_in`
    is the key of the feed or sitemap that lists them."""
    if entries:
        rows = [(entry.key, entry.stamp, entry.page.position) for entry in entries]
        _REMEMBER(connection, id=subscription_id, new=rows, found_in=found_in, job_id=job_id,
                  now=now)  # fmt: skip


def mark_whole(connection: Connection, subscription_id: int, key: str) -> None:
    """All entries of this sitemap were admitted or seen: until it changes, no run needs it."""
    _MARK_WHOLE(connection, id=subscription_id, entry=key)
