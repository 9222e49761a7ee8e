"""Limits how long a lane holds its source, so that other workers get it too."""

import random

VISITS = 1_000
SPAN = 20_000
SPREAD = 0.25
"""A budget lasts SPAN, more or less by this part of it: lanes that begin together do not all hand
over at the same moment."""
OVERTIME, SLOW = 30_000, 1_000
"""Beyond its budget a lane continues for up to OVERTIME while a request has been open for more than
SLOW: the source cannot be released before that request ends, and need not be idle meanwhile."""


class Budget:
    def __init__(self, now: int, rng: random.Random) -> None:
        self._rng = rng
        self._visits = self._until = 0
        self.renew(now)
        self._open_since: dict[int, int] = {}
        """When each open request started, by page; the oldest first."""

    def renew(self, now: int) -> None:
        self._visits = VISITS
        self._until = now + int(SPAN * self._rng.uniform(1 - SPREAD, 1 + SPREAD))

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
