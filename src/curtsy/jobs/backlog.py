"""How much waits already. Summed now and then, by whoever is about to add to it and outside of its
transaction: limits are bounds, not exact counts."""

from curtsy.clock import Clock
from curtsy.errors import OverLimit
from curtsy.jobs.request import SubmitLimits
from curtsy.store import Connection, Statement, Store

COUNT_EVERY = 1_000
REST_FOR_WORK = 20
"""The more jobs are open, the longer a count takes, and the longer it serves."""

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
        self._in_all = 0
        self._count_at: int | None = None

    async def count(self, store: Store) -> None:
        """Anew, if the last time was long enough ago."""
        now = self._clock.monotonic()
        if self._count_at is None or now >= self._count_at:
            self._count_at = now + COUNT_EVERY
            self._by_user = await store.read(_count)
            self._in_all = sum(self._by_user.values())
            took = self._clock.monotonic() - now
            self._count_at = now + max(COUNT_EVERY, REST_FOR_WORK * took)

    def add(self, user_id: str | None, adding: int, limits: SubmitLimits) -> None:
        """Raises `OverLimit`, and then nothing is added."""
        of_user = self._by_user.get(user_id, 0) + adding
        in_all = self._in_all + adding
        if in_all > limits.pending:
            raise OverLimit(f"{in_all} pages would wait; the limit is {limits.pending}.")
        if user_id is not None and of_user > limits.pending_of_user:
            raise OverLimit(
                f"{of_user} pages of {user_id} would wait; the limit is {limits.pending_of_user}."
            )
        self._by_user[user_id], self._in_all = of_user, in_all


def _count(connection: Connection) -> dict[str | None, int]:
    return {user_id: int(pending) for user_id, pending in _PENDING(connection)}
