"""For how long a lane keeps its source, so that nobody hoards."""

VISITS = 1_000
SPAN = 20_000
OVERTIME, SLOW = 30_000, 1_000
"""Beyond its budget a lane goes on for so long while a request is open that takes more than this:
the source cannot be given back before it ends, and need not stand still."""


class Budget:
    def __init__(self, now: int) -> None:
        self._visits, self._until = VISITS, now + SPAN
        self._open_since: dict[int, int] = {}
        """By page; the oldest first."""

    def spend(self, page_id: int, now: int) -> None:
        self._visits -= 1
        self._open_since[page_id] = now

    def ended(self, page_id: int) -> None:
        del self._open_since[page_id]

    def is_spent(self, at: int) -> bool:
        return self._visits <= 0 or at >= self._until

    def overtime(self, now: int) -> int | None:
        """Milliseconds until the lane goes on beyond its budget if nothing ends; None: it ends."""
        if not self._open_since or now >= self._until + OVERTIME:
            return None
        return max(0, next(iter(self._open_since.values())) + SLOW - now)
