"""How much waits already. Summed now and then: limits are bounds, not exact counts."""

from curtsy.clock import Clock
from curtsy.errors import OverLimit
from curtsy.store import Connection, Statement, Store
from curtsy.submit.request import SubmitLimits

COUNT_EVERY = 1_000
REST_FOR_WORK = 20
"""The more jobs are open, the longer a count takes, and the longer it serves."""

_PENDING = Statement(
    """
    SELECT user_id, sum(total - done - failed - cancelled) AS pending FROM jobs
    WHERE state IN ('queued', 'running') GROUP BY user_id
    """
)


class Pending:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._by_user: dict[str | None, int] = {}
        self._count_at: int | None = None

    async def check(self, user_id: str | None, adding: int, limits: SubmitLimits) -> None:
        now = self._clock.monotonic()
        if self._count_at is None or now >= self._count_at:
            self._count_at = now + COUNT_EVERY
            self._by_user = await self._store.read(_count)
            took = self._clock.monotonic() - now
            self._count_at = now + max(COUNT_EVERY, REST_FOR_WORK * took)
        of_user = self._by_user.get(user_id, 0) + adding
        in_all = sum(self._by_user.values()) + adding
        if in_all > limits.pending:
            raise OverLimit(f"{in_all} pages would wait; the limit is {limits.pending}.")
        if user_id is not None and of_user > limits.pending_of_user:
            raise OverLimit(
                f"{of_user} pages of {user_id} would wait; the limit is {limits.pending_of_user}."
            )
        self._by_user[user_id] = of_user


def _count(connection: Connection) -> dict[str | None, int]:
    return {user_id: int(pending) for user_id, pending in _PENDING(connection)}
