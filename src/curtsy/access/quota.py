"""Quotas of keys: pages in a clock hour, and open jobs. Submits, retries and replays of webhooks
spend them.

The transaction locks the row of the key before anything else, so that concurrent submits of one
key are counted one after the other. A key without quotas costs no lock.
"""

from collections.abc import Collection
from dataclasses import dataclass

from curtsy.clock import HOUR, SECOND
from curtsy.errors import BadRequest, OverLimit
from curtsy.model.counts import counted
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
    """The use of a key and its limits; None: no limit."""

    pages: int
    most_pages: int | None
    open_jobs: int
    most_open_jobs: int | None


class Quotas:
    """The quotas of the keys of one transaction."""

    def __init__(self, connection: Connection, key_ids: Collection[int], *, now: int) -> None:
        self._now = now
        wanted = [(key_id,) for key_id in key_ids]
        rows = list(_LOCK(connection, wanted=wanted)) if wanted else []
        self._accounts = {
            row.id: _Account(
                row.pages_this_hour if row.hour == now // HOUR else 0, row.pages_per_hour,
                _count_open_jobs(connection, row.user_id, row.open_jobs), row.open_jobs,
            )
            for row in rows
        }  # fmt: skip

    def spend(self, key_id: int | None, pages: int, *, opens: bool = True) -> None:
        """Spends pages, and one open job if the job `opens` with them. Raises `OverLimit`, or
        `BadRequest` if the pages are more than the quota of an hour, and then spends nothing."""
        account = self._accounts.get(key_id) if key_id is not None else None
        if account is None:
            return
        self._require_pages(account, pages)
        most = account.most_open_jobs
        if opens and most is not None and account.open_jobs >= most:
            raise OverLimit(f"The key may have {counted(most, 'job')} open at once.")
        account.pages += pages
        account.open_jobs += opens

    def _require_pages(self, account: _Account, pages: int) -> None:
        most = account.most_pages
        if most is None or account.pages + pages <= most:
            return
        quota = f"The key may request {counted(most, 'page')} an hour"
        if pages > most:
            raise BadRequest([f"{quota}: never {pages} at once."])
        left = max(0, most - account.pages)
        sentence = f"{quota}. In this hour {left} are left, and this request needs {pages}."
        raise OverLimit(sentence, -(-(HOUR - self._now % HOUR) // SECOND))

    def record(self, connection: Connection) -> None:
        if self._accounts:
            spent = [(key_id, account.pages) for key_id, account in self._accounts.items()]
            _RECORD(connection, spent=spent, hour=self._now // HOUR)


def _count_open_jobs(connection: Connection, user_id: str, most: int | None) -> int:
    """Counts up to the limit; without a limit, nothing."""
    if most is None:
        return 0
    return int(_COUNT_OPEN_JOBS(connection, user_id=user_id, most=most).scalar_one())
