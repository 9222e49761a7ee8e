"""Limits how long a lane holds its source, so that other workers get it too."""

VISITS = 1_000
SPAN = 20_000
OVERTIME, SLOW = 30_000, 1_000
"""Beyond its budget a lane continues for up to OVERTIME while a request has been open for more than
SLOW: the source cannot be released before that request ends, and need not be idle meanwhile."""


class Budget:
    def __init__(self, now: int) -> None:
        self._visits, self._until = VISITS, now + SPAN
        self._open_since: dict[int, int] = {}
        """When each open request started, by page; the oldest first."""

    def spend(self, page_id: int, now: int) -> None:
        self._visits -= 1
        self._open_since[page_id] = now

    def ended(self, page_id: int) -> None:
        del self._open_since[page_id]

    def is_spent(self, at: int) -> bool:
        return self._visits <= 0 or at >= self._until

    def overtime(self, now: int) -> int | None:
        """Returns the milliseconds until the lane may continue beyond its budget, unless its open
        requests end before; None: the lane ends."""
        if not self._open_since or now >= self._until + OVERTIME:
            return None
        return max(0, next(iter(self._open_since.values())) + SLOW - now)
