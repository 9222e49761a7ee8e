"""Limits the number of waiting pages, in all and for each user.

The pages are counted now and then, before a submit and outside its transaction: the limits are
bounds, not exact counts.
"""

from curtsy.clock import Clock
from curtsy.errors import OverLimit
from curtsy.jobs.job_request import SubmitLimits
from curtsy.store import Connection, Statement, Store

COUNT_EVERY = 1_000
REUSE_FACTOR = 20
"""A count is reused for so many times as long as it took."""

_PENDING = Statement(
    """
    SELECT user_id, sum(total - done - failed - cancelled) AS pending FROM jobs
    WHERE state IN ('queued', 'running') GROUP BY user_id
    """
)


class Backlog:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_user: dict[str | None, int] = {}
        self._total = 0
        self._count_at: int | None = None

    async def count(self, store: Store) -> None:
        """Counts the waiting pages again, if the last count is old enough."""
        now = self._clock.monotonic()
        if self._count_at is None or now >= self._count_at:
            self._count_at = now + COUNT_EVERY
            self._by_user = await store.read(_count)
            self._total = sum(self._by_user.values())
            took = self._clock.monotonic() - now
            self._count_at = now + max(COUNT_EVERY, REUSE_FACTOR * took)

    def add(self, user_id: str | None, pages: int, limits: SubmitLimits) -> None:
        """Adds pages of a submit. Raises `OverLimit`, and then adds nothing."""
        of_user = self._by_user.get(user_id, 0) + pages
        total = self._total + pages
        if total > limits.pending:
            raise OverLimit(f"{total} pages would wait; the limit is {limits.pending}.")
        if user_id is not None and of_user > limits.pending_of_user:
            raise OverLimit(
                f"{of_user} pages of {user_id} would wait; the limit is {limits.pending_of_user}."
            )
        self._by_user[user_id], self._total = of_user, total


def _count(connection: Connection) -> dict[str | None, int]:
    return {user_id: int(pending) for user_id, pending in _PENDING(connection)}
