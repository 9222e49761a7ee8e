"""Quotas of keys: pages in a clock hour, and jobs that are open, counted as jobs come in or open
again.

A key's row is locked before anything else of the transaction, so that what comes in at the same
time is counted one after the other. A key without quotas costs no lock.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from curtsy.clock import HOUR, SECOND
from curtsy.errors import BadRequest, OverLimit
from curtsy.store import Connection, Statement

_LOCK = Statement(
    """
    SELECT id, user_id, pages_per_hour, open_jobs, hour, pages_this_hour FROM api_keys
    WHERE id IN (SELECT id FROM {wanted})
      AND (pages_per_hour IS NOT NULL OR open_jobs IS NOT NULL)
    ORDER BY id {lock}
    """,
    wanted={"id": "bigint"},
)
_COUNT_OPEN_JOBS = Statement(
    """
    SELECT count(*) FROM (
        SELECT 1 FROM jobs WHERE user_id = :user_id AND finished_at IS NULL
            AND state <> 'scheduled' LIMIT :most) AS counted
    """
)
_RECORD = Statement(
    """
    UPDATE api_keys SET hour = :hour, pages_this_hour = s.pages FROM (SELECT * FROM {spent}) s
    WHERE api_keys.id = s.id
    """,
    spent={"id": "bigint", "pages": "int"},
)


@dataclass(slots=True)
class _Account:
    """What a key has used, and what it may use; None: as much as it likes."""

    pages: int
    most_pages: int | None
    open_jobs: int
    most_open_jobs: int | None


class Quotas:
    """Of the keys that a transaction's jobs came with."""

    def __init__(self, connection: Connection, key_ids: Collection[int], *, now: int) -> None:
        self._now = now
        wanted = [(key_id,) for key_id in key_ids]
        rows = list(_LOCK(connection, wanted=wanted)) if wanted else []
        self._accounts = {row.id: _account(connection, row, now // HOUR) for row in rows}

    def spend(self, key_id: int | None, pages: int, *, opens: bool = True) -> None:
        """For so many pages of a job that `opens`, or is open already; raises `OverLimit`, or
        `BadRequest` where no hour has so many, and then nothing is spent."""
        account = self._accounts.get(key_id) if key_id is not None else None
        if account is None:
            return
        self._require_pages(account, pages)
        most = account.most_open_jobs
        if opens and most is not None and account.open_jobs >= most:
            raise OverLimit(f"The key may have {most} jobs open at once.")
        account.pages += pages
        account.open_jobs += opens

    def _require_pages(self, account: _Account, pages: int) -> None:
        most = account.most_pages
        if most is None or account.pages + pages <= most:
            return
        may = f"The key may ask for {most} pages an hour"
        if pages > most:
            raise BadRequest([f"{may}: never for {pages} at once."])
        spent = f"{account.pages} of this hour's are spent: no {pages} are left."
        left = HOUR - self._now % HOUR
        raise OverLimit(f"{may}, and {spent}", -(-left // SECOND))

    def record(self, connection: Connection) -> None:
        if self._accounts:
            spent = [(key_id, account.pages) for key_id, account in self._accounts.items()]
            _RECORD(connection, spent=spent, hour=self._now // HOUR)


def _account(connection: Connection, row: Any, hour: int) -> _Account:
    open_jobs = 0
    if row.open_jobs is not None:
        counted = _COUNT_OPEN_JOBS(connection, user_id=row.user_id, most=row.open_jobs)
        open_jobs = int(counted.scalar_one())
    pages = row.pages_this_hour if row.hour == hour else 0
    return _Account(pages, row.pages_per_hour, open_jobs, row.open_jobs)
